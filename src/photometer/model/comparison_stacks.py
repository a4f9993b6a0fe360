"""ComparisonStacks: where the instructions of both sides of a changed benchmark went: for the differential flame graph.

A record of its own beside the verdict, because it is many times its size and few readers want it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from photometer.errors import ResultsFileError
from photometer.model.packed_stacks import FoldedStack, unpack_stacks
from photometer.model.records import Positive


@dataclass(frozen=True)
class ComparisonStacks:
    """`base` and `branch` are as pack_stacks leaves them, of `number_per_run` runs each."""

    KIND: ClassVar[str] = "comparison_stacks"

    order_id: str
    number_per_run: Positive
    base: Mapping[str, Any]
    branch: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not self.base_stacks or not self.branch_stacks:
            raise ResultsFileError("the call stacks of a comparison should be of both sides")

    @property
    def base_stacks(self) -> tuple[FoldedStack, ...]:
        return unpack_stacks(self.base)

    @property
    def branch_stacks(self) -> tuple[FoldedStack, ...]:
        return unpack_stacks(self.branch)
