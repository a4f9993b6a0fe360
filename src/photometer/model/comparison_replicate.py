"""ComparisonReplicate: all blocks of one replicate of a live comparison, as a results file keeps them.

Whole nanoseconds of each block: exact beside the clock, a third of the text of a float, and the same numbers (hence the
same verdict) when a comparison is resumed from its file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import ClassVar

from photometer.errors import MeasurementError
from photometer.model.records import NotNegative, Positive


@dataclasses.dataclass(frozen=True)
class ComparisonReplicate:
    """Neighbouring blocks of two or more sides. `layout` 0 is the frozen one; others show what the memory layout does.

    `places` are the positions of the sides, if they are not 0 and 1; the first two have names from the time when there
    were no others.
    """

    KIND: ClassVar[str] = "comparison_replicate"

    order_id: str
    runs_per_block: Positive
    base_block_nanoseconds: tuple[Positive, ...]
    branch_block_nanoseconds: tuple[Positive, ...]
    measuring_seconds: NotNegative
    whole_seconds: NotNegative
    layout: int = 0
    more_block_nanoseconds: tuple[tuple[Positive, ...], ...] = ()
    places: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len({len(blocks) for blocks in self._blocks}) > 1:
            raise MeasurementError("a replicate has more blocks of one side than of the other")
        if self.places and len(self.places) != len(self._blocks):
            raise MeasurementError("a replicate does not say of each side which one it is")

    @classmethod
    def from_seconds(
        cls,
        order_id: str,
        runs_per_block: int,
        seconds_per_run: Mapping[int, Sequence[float]],
        *,
        measuring_seconds: float,
        whole_seconds: float,
        layout: int = 0,
    ) -> ComparisonReplicate:
        """Return the record of seconds per run, by the position of the side."""
        base, branch, *more = (_nanoseconds(seconds, runs_per_block) for seconds in seconds_per_run.values())
        places = tuple(seconds_per_run)
        return cls(
            order_id,
            runs_per_block,
            base,
            branch,
            round(measuring_seconds, 6),
            round(whole_seconds, 6),
            layout,
            tuple(more),
            () if places == (0, 1) else places,
        )

    @property
    def seconds_per_run(self) -> dict[int, tuple[float, ...]]:
        """Return the seconds per run of each side's blocks, by its position."""
        scale = 1e9 * self.runs_per_block
        places = self.places or (0, 1)
        return {
            place: tuple(block / scale for block in blocks) for place, blocks in zip(places, self._blocks, strict=True)
        }

    def of_side(self, side: int) -> ComparisonReplicate | None:
        """Return the blocks of one side and the reference alone; None if the side has none."""
        by_place = dict(zip(self.places or (0, 1), self._blocks, strict=True))
        if side not in by_place or 0 not in by_place:
            return None
        return dataclasses.replace(
            self,
            base_block_nanoseconds=by_place[0],
            branch_block_nanoseconds=by_place[side],
            more_block_nanoseconds=(),
            places=(),
        )

    @property
    def _blocks(self) -> tuple[tuple[int, ...], ...]:
        return (self.base_block_nanoseconds, self.branch_block_nanoseconds, *self.more_block_nanoseconds)


def _nanoseconds(seconds_per_run: Sequence[float], runs: int) -> tuple[int, ...]:
    # A clock that stood still gives a block of zero seconds, which nothing can be divided by.
    return tuple(max(round(seconds * runs * 1e9), 1) for seconds in seconds_per_run)
