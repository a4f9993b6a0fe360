"""ComparisonReplicate: all blocks of one replicate of a live comparison, as a results file keeps them.

Whole nanoseconds of each block: exact beside the clock, a third of the text of a float, and the same numbers (hence the
same verdict) when a comparison is resumed from its file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from photometer.errors import ResultsFileError

KIND = "comparison_replicate"


@dataclasses.dataclass(frozen=True)
class ComparisonReplicate:
    """Neighbouring blocks of both sides. `layout` 0 is the frozen one; others show the luck of the layout."""

    order_id: str
    runs_per_block: int
    base_block_nanoseconds: tuple[int, ...]
    branch_block_nanoseconds: tuple[int, ...]
    measuring_seconds: float
    whole_seconds: float
    layout: int = 0

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

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": KIND,
            "order_id": self.order_id,
            "layout": self.layout,
            "runs_per_block": self.runs_per_block,
            "measuring_seconds": self.measuring_seconds,
            "whole_seconds": self.whole_seconds,
            "base_block_nanoseconds": list(self.base_block_nanoseconds),
            "branch_block_nanoseconds": list(self.branch_block_nanoseconds),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ComparisonReplicate:
        blocks = [_blocks(record, f"{side}_block_nanoseconds") for side in ("base", "branch")]
        if len(blocks[0]) != len(blocks[1]):
            raise ResultsFileError("a replicate has more blocks of one side than of the other")
        runs, layout = record.get("runs_per_block"), record.get("layout", 0)
        if not (isinstance(runs, int) and runs > 0 and isinstance(layout, int)):
            raise ResultsFileError("a replicate's runs_per_block and layout should be whole numbers")
        seconds = [record.get(name) for name in ("measuring_seconds", "whole_seconds")]
        if not all(isinstance(value, (int, float)) and value >= 0 for value in seconds):
            raise ResultsFileError("a replicate's seconds should be numbers")
        measuring, whole = (float(str(value)) for value in seconds)
        return cls(str(record.get("order_id")), runs, blocks[0], blocks[1], measuring, whole, layout)


def _nanoseconds(seconds_per_run: Sequence[float], runs: int) -> tuple[int, ...]:
    # A clock that stood still gives a block of no time, which nothing can be divided by.
    return tuple(max(round(seconds * runs * 1e9), 1) for seconds in seconds_per_run)


def _blocks(record: Mapping[str, Any], name: str) -> tuple[int, ...]:
    values = record.get(name)
    if not isinstance(values, list) or not all(isinstance(value, int) and value > 0 for value in values):
        raise ResultsFileError(f"{name} should be a list of positive whole numbers")
    return tuple(values)
