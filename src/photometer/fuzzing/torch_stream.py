"""torch's CPU random stream, kept apart for one sequence of inputs.

A statement that draws random numbers between two inputs must not change the second input. So the stream's state
is put in place only while a tensor is made, and the user's own state is put back after.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class TorchStream:
    """The stream that follows `torch.manual_seed(seed)`, whatever else draws in between."""

    def __init__(self, seed: int) -> None:
        import torch

        # Seeds the user's stream and the accelerators' too, as torch's fuzzer does: a statement's own draws
        # repeat as well.
        torch.manual_seed(seed)
        self.state: Any = torch.get_rng_state()

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Inside, torch's global CPU stream is this one."""
        import torch

        users_state = torch.get_rng_state()
        torch.set_rng_state(self.state)
        try:
            yield
        finally:
            self.state = torch.get_rng_state()
            torch.set_rng_state(users_state)
