"""PreparedInput: an input that has been drawn, and whose tensors are made only on request.

In come the draw and torch's random stream, kept apart from the user's; out come the tensors, or only the stream as it
is after them. So an input can be skipped without memory for its tensors, and one that fails changes none after it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from photometer.fuzzing.tensor import FuzzedTensor

FuzzedInput = tuple[dict[str, Any], dict[str, dict[str, Any]], dict[str, Any]]


class TorchStream:
    """The CPU random stream that follows `torch.manual_seed(seed)`, whatever else draws in between.

    A statement that draws random numbers between two inputs must not change the second one. So this stream is put in
    place only while a tensor is made, and the user's is put back afterwards.
    """

    def __init__(self, seed: int) -> None:
        import torch

        # Seeds the user's stream and the accelerators' too, as torch's fuzzer does: a statement's own draws repeat.
        torch.manual_seed(seed)
        self.state: Any = torch.get_rng_state()

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Make this stream torch's global CPU stream inside the `with` block."""
        import torch

        users_state = torch.get_rng_state()
        torch.set_rng_state(self.state)
        try:
            yield
        finally:
            self.state = torch.get_rng_state()
            torch.set_rng_state(users_state)


@dataclass(frozen=True)
class Draw:
    """The values of the parameter stream for one input: its parameters and each tensor's memory order."""

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
        """Return the values of the parameters."""
        return self._draw.params

    def make(self) -> FuzzedInput:
        """Return tensors by name, their properties by name, and the parameters."""
        tensors: dict[str, Any] = {}
        properties: dict[str, dict[str, Any]] = {}
        for tensor, order in zip(self._tensors, self._draw.orders, strict=True):
            with self._values.in_place():
                tensors[tensor.name], properties[tensor.name] = tensor.make(self._draw.params, order)
        self._is_made = True
        return tensors, properties, self._draw.params

    def leave(self) -> None:
        """Move the stream to its place after this input, whether it was made or not."""
        if self._is_made:
            return
        self._values.state = self._start
        for tensor in self._tensors:
            before = self._values.state
            # A constructor that raises takes nothing from the stream. It raises again if this input is made.
            with contextlib.suppress(Exception):
                with self._values.in_place():
                    tensor.skip(self._draw.params)
                continue
            self._values.state = before
