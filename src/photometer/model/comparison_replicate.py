"""ComparisonReplicate: all blocks of one replicate of a live comparison, as a results file keeps them.

Whole nanoseconds of each block: exact beside the clock, a third of the text of a float, and the same numbers (hence the
same verdict) when a comparison is resumed from its file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from photometer.errors import MeasurementError
from photometer.model.records import NotNegative, Positive


@dataclasses.dataclass(frozen=True)
class ComparisonReplicate:
    """Neighbouring blocks of both sides. `layout` 0 is the frozen one; others show what the memory layout does."""

    KIND: ClassVar[str] = "comparison_replicate"

    order_id: str
    runs_per_block: Positive
    base_block_nanoseconds: tuple[Positive, ...]
    branch_block_nanoseconds: tuple[Positive, ...]
    measuring_seconds: NotNegative
    whole_seconds: NotNegative
    layout: int = 0

    def __post_init__(self) -> None:
        if len(self.base_block_nanoseconds) != len(self.branch_block_nanoseconds):
            raise MeasurementError("a replicate has more blocks of one side than of the other")

    @classmethod
    def from_seconds(
        cls,
        order_id: str,
        runs_per_block: int,
        base_seconds_per_run: Sequence[float],
        branch_seconds_per_run: Sequence[float],
        *,
        measuring_seconds: float,
        whole_seconds: float,
        layout: int = 0,
    ) -> ComparisonReplicate:
        return cls(
            order_id,
            runs_per_block,
            _nanoseconds(base_seconds_per_run, runs_per_block),
            _nanoseconds(branch_seconds_per_run, runs_per_block),
            round(measuring_seconds, 6),
            round(whole_seconds, 6),
            layout,
        )

    @property
    def base_seconds_per_run(self) -> tuple[float, ...]:
        return tuple(block / (1e9 * self.runs_per_block) for block in self.base_block_nanoseconds)

    @property
    def branch_seconds_per_run(self) -> tuple[float, ...]:
        return tuple(block / (1e9 * self.runs_per_block) for block in self.branch_block_nanoseconds)


def _nanoseconds(seconds_per_run: Sequence[float], runs: int) -> tuple[int, ...]:
    # A clock that stood still gives a block of zero seconds, which nothing can be divided by.
    return tuple(max(round(seconds * runs * 1e9), 1) for seconds in seconds_per_run)
