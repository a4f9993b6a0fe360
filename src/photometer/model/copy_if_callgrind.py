"""CopyIfCallgrind: the mark by which a user allows a global to be copied into the process that counts instructions.

A statement is counted in another process, so a global cannot be shared with it, only copied; that may change what is
measured, and so it is never done unasked. Tensors are refused as in torch: a copy may lie elsewhere (pinned, strided).
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Mapping
from typing import Any

from photometer.errors import DefinitionError


class Serialization(enum.Enum):
    """How a value travels."""

    PICKLE = 0
    TORCH = 1
    TORCH_JIT = 2


_BUILTIN_TYPES = (str, bytes, bool, int, float, complex)


class CopyIfCallgrind:
    """Wraps a value of `globals`; `setup` is code that must run before it can be read (the import of its class)."""

    def __init__(self, value: Any, *, setup: str | None = None) -> None:
        self._serialization = _serialization(value)
        self._value = value
        self._setup = setup

    @property
    def value(self) -> Any:
        """Return the value itself."""
        return self._value

    @property
    def setup(self) -> str | None:
        """Return code that runs in the other process before the value is read."""
        return self._setup

    @property
    def serialization(self) -> Serialization:
        """Return how the value is copied to the process that counts."""
        return self._serialization

    def __repr__(self) -> str:
        return f"CopyIfCallgrind({self._value!r}, setup={self._setup!r})"

    @staticmethod
    def unwrap_all(globals: Mapping[str, Any]) -> dict[str, Any]:
        """Return the same names with the plain values, which a measurement in this very process uses."""
        return {name: value.value if isinstance(value, CopyIfCallgrind) else value for name, value in globals.items()}


def _serialization(value: Any) -> Serialization:
    if isinstance(value, _BUILTIN_TYPES):
        return Serialization.PICKLE
    # A value can only be torch's if torch has been imported, so this module need not import it.
    torch = sys.modules.get("torch")
    if torch is not None:
        if isinstance(value, (torch.jit.ScriptFunction, torch.jit.ScriptModule)):
            return Serialization.TORCH_JIT
        if isinstance(value, torch.nn.Module):
            return Serialization.TORCH
    kinds = [kind.__name__ for kind in _BUILTIN_TYPES] + ["ScriptFunction", "ScriptModule", "nn.Module"]
    raise DefinitionError(
        f"A value of type {type(value).__name__} cannot be copied to the process that counts instructions.",
        remedy=f"Make it in `setup`, or pass one of: {', '.join(kinds)}.",
    )
