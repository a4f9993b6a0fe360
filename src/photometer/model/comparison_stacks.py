"""ComparisonStacks: where the instructions of both sides of a changed benchmark went: for the differential flame graph.

A record of its own beside the verdict, because it is many times its size and few readers want it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from photometer.errors import ResultsFileError
from photometer.model.packed_stacks import FoldedStack, unpack_stacks

KIND = "comparison_stacks"


@dataclass(frozen=True)
class ComparisonStacks:
    """`base` and `branch` are as pack_stacks leaves them, of `number_per_run` runs each."""

    order_id: str
    number_per_run: int
    base: Mapping[str, Any]
    branch: Mapping[str, Any]

    @property
    def base_stacks(self) -> tuple[FoldedStack, ...]:
        return unpack_stacks(self.base)

    @property
    def branch_stacks(self) -> tuple[FoldedStack, ...]:
        return unpack_stacks(self.branch)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": KIND,
            "order_id": self.order_id,
            "number_per_run": self.number_per_run,
            "base": dict(self.base),
            "branch": dict(self.branch),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ComparisonStacks:
        runs = record.get("number_per_run")
        if not isinstance(runs, int) or isinstance(runs, bool) or runs < 1:
            raise ResultsFileError(f"number_per_run should be a positive whole number, found {runs!r}")
        stacks = cls(str(record.get("order_id")), runs, record.get("base", {}), record.get("branch", {}))
        if not stacks.base_stacks or not stacks.branch_stacks:
            raise ResultsFileError("the call stacks of a comparison should be of both sides")
        return stacks
