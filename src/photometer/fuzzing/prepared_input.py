"""PreparedInput: an input that has been drawn, and is made if someone asks for it.

In come the draw and torch's random stream; out come tensors, or nothing but the stream at the place where they would
have left it. So inputs can be passed over without room for their tensors, and one that fails changes none after it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from photometer.fuzzing.tensor import FuzzedTensor
from photometer.fuzzing.torch_stream import TorchStream

FuzzedInput = tuple[dict[str, Any], dict[str, dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Draw:
    """What the parameter stream decides about one input: its parameters and each tensor's memory order."""

    params: dict[str, Any]
    orders: tuple[tuple[int, ...], ...]


class PreparedInput:
    """One input, drawn. `make` it at most once, before the next one is drawn."""

    def __init__(self, tensors: Sequence[FuzzedTensor], draw: Draw, values: TorchStream) -> None:
        self._tensors = tensors
        self._draw = draw
        self._values = values
        self._start = values.state
        self._is_made = False

    @property
    def params(self) -> dict[str, Any]:
        return self._draw.params

    def make(self) -> FuzzedInput:
        """Tensors by name, their properties by name, and the parameters."""
        tensors: dict[str, Any] = {}
        properties: dict[str, dict[str, Any]] = {}
        for tensor, order in zip(self._tensors, self._draw.orders, strict=True):
            with self._values.in_place():
                tensors[tensor.name], properties[tensor.name] = tensor.make(self._draw.params, order)
        self._is_made = True
        return tensors, properties, self._draw.params

    def leave(self) -> None:
        """Bring the stream to where it stands after this input, made or not."""
        if self._is_made:
            return
        self._values.state = self._start
        for tensor in self._tensors:
            before = self._values.state
            # A constructor that raises takes nothing from the stream. Whoever asks for this input hears of it.
            with contextlib.suppress(Exception):
                with self._values.in_place():
                    tensor.skip(self._draw.params)
                continue
            self._values.state = before
