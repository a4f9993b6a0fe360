"""PresetFuzzer: a ready-made fuzzer that prints as the short call that made it."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from photometer.fuzzing.constructor_text import constructor_text
from photometer.fuzzing.element_type import dtype_name
from photometer.fuzzing.fuzzer import Constraint, Fuzzer
from photometer.fuzzing.parameter import FuzzedParameter
from photometer.fuzzing.tensor import FuzzedTensor


class PresetFuzzer(Fuzzer):
    """What the presets share: `arguments` are those given to the subclass."""

    def __init__(
        self,
        parameters: Iterable[FuzzedParameter | Iterable[FuzzedParameter]],
        tensors: Iterable[FuzzedTensor | Iterable[FuzzedTensor]],
        *,
        seed: int | None,
        arguments: Mapping[str, Any],
        constraints: Sequence[Constraint] | None = None,
    ) -> None:
        super().__init__(parameters, tensors, constraints, seed)
        self._arguments = dict(arguments)
        if "dtype" in self._arguments:
            self._arguments["dtype"] = dtype_name(self._arguments["dtype"])
        if self._arguments.get("device") is not None:
            self._arguments["device"] = str(self._arguments["device"])

    def rebuild_line(self, index: int) -> str:
        """One line of Python that makes input `index` again, from nothing."""
        imports = f"from {type(self).__module__} import {type(self).__name__}"
        return f"{imports}; tensors, properties, params = {self!r}.at({index})"

    def __repr__(self) -> str:
        defaults = {name: each.default for name, each in inspect.signature(type(self)).parameters.items()}
        return constructor_text(type(self).__name__, (), {"seed": self.seed, **self._arguments}, defaults)
