"""Copies of a Timer's globals for the process that counts instructions: torch's collect_callgrind accepts the same.

In: the `globals` of a Timer. Out: CopiedGlobals, and from these the Python text that defines the names there.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from photometer.errors import DefinitionError
from photometer.model.copy_if_callgrind import CopyIfCallgrind, Serialization
from photometer.session.layout import of_fixed_length
from photometer.worker.torch_here import torch_or_missing

_LITERAL_TYPES = (str, bytes, bool, int)
_LEFT_OUT = ("torch", "__builtins__")


@dataclass(frozen=True)
class CopiedGlobal:
    """A name and how to make its value: an expression, or the bytes of a file and the function that loads it."""

    name: str
    setup: str | None
    expression: str | None = None
    loader: str | None = None
    data: bytes = b""


# A class of the user's script is saved as one of `__main__`. The set-up imports it, so it must be found there.
_SHOWN_IN_MAIN = """
for _photometer_name, _photometer_value in list(globals().items()):
    vars(__import__("sys").modules["__main__"]).setdefault(_photometer_name, _photometer_value)
"""


def copy_globals(globals: Mapping[str, Any]) -> tuple[CopiedGlobal, ...]:
    """Return a copy of every global. As in torch, another `torch` and values not marked for copying are refused."""
    if not globals:
        return ()
    torch = torch_or_missing()
    if globals.get("torch", torch) is not torch:
        raise DefinitionError(
            "instructions are counted in another process, where `torch` cannot be replaced by a global",
            remedy="Give the replacement another name and create it in `setup`.",
        )
    copied = []
    for name, value in globals.items():
        if name in _LEFT_OUT:
            continue
        if not isinstance(value, CopyIfCallgrind):
            raise DefinitionError(
                f"the global {name!r} cannot be shared with the process that counts instructions, only copied",
                remedy=f"Write CopyIfCallgrind({name}) to allow the copy, or create it in `setup`. "
                "A callable statement is also such a global: give the statement as text.",
            )
        copied.append(_copied(name, value))
    return tuple(copied)


def globals_text(copied: Sequence[CopiedGlobal], folder: Path) -> str:
    """Return Python text that defines the globals. Files that it reads are written to `folder`."""
    lines = []
    for i, each in enumerate(copied):
        if each.setup is not None:
            lines.append(textwrap.dedent(each.setup))
        if each.setup is not None and each.loader == "torch.load":
            lines.append(_SHOWN_IN_MAIN)
        if each.expression is not None:
            lines.append(f"{each.name} = {each.expression}")
            continue
        path = folder / f"global-{i}"
        path.write_bytes(each.data)
        options = ", weights_only=False" if each.loader == "torch.load" else ""
        lines.append(f"{each.name} = {each.loader}({of_fixed_length(str(path))!r}{options})")
    return "\n".join(lines)


def _copied(name: str, wrapped: CopyIfCallgrind) -> CopiedGlobal:
    torch = torch_or_missing()
    value = wrapped.value
    buffer = io.BytesIO()
    if wrapped.serialization is Serialization.TORCH_JIT:
        torch.jit.save(value, buffer)
        return CopiedGlobal(name, wrapped.setup, loader="torch.jit.load", data=buffer.getvalue())
    expression = None if wrapped.serialization is Serialization.TORCH else _expression(value)
    if expression is not None:
        return CopiedGlobal(name, wrapped.setup, expression=expression)
    # A module, or a subclass of a builtin type such as an IntEnum: torch.save, which the user has allowed.
    try:
        torch.save(value, buffer)
    except Exception as error:
        raise DefinitionError(
            f"the global {name!r} cannot be copied to the process that counts instructions: {error}",
            remedy="Define its class in a module that can be imported, or create it in `setup`.",
        ) from error
    return CopiedGlobal(name, wrapped.setup, loader="torch.load", data=buffer.getvalue())


def _expression(value: Any) -> str | None:
    if type(value) in _LITERAL_TYPES:
        return repr(value)
    # Infinities and not-a-number have no literal.
    if type(value) is float:
        return f"float({str(value)!r})"
    if type(value) is complex:
        return f"complex({_expression(value.real)}, {_expression(value.imag)})"
    return None
