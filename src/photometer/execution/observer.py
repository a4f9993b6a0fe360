"""RunObserver: what a run tells whoever looks on, such as a progress bar. All calls come from the run's own thread."""

from __future__ import annotations

import dataclasses
from typing import Protocol


@dataclasses.dataclass(frozen=True)
class RunState:
    """How far a run is. Steps are timings and counts; scripting and the build are not among them."""

    finished_steps: int
    all_steps: int
    failed_orders: int
    seconds_left: float
    now: tuple[str, ...]


class RunObserver(Protocol):
    def looked_at(self, state: RunState) -> None:
        """Called a few times a second, and after every step."""

    def gave_up(self, title: str, reason: str) -> None:
        """An order failed for good."""


class NobodyLooks:
    def looked_at(self, state: RunState) -> None:
        pass

    def gave_up(self, title: str, reason: str) -> None:
        pass
