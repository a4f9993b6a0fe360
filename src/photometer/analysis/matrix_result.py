"""What a comparison of many sides says: versions × benchmarks, each against the reference and against the side before.

Frozen records without text layout. MatrixRow stands in the results file as kind "matrix_row"; the names of the sides
stand in its header.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from photometer.analysis.cause import InstructionChange
from photometer.analysis.comparison_result import Outcome
from photometer.analysis.verdict import Verdict, VerdictWord
from photometer.model.machine import MachineNoise

_CHANGES = ("slower", "faster")


@dataclasses.dataclass(frozen=True)
class MatrixCell:
    """One benchmark on one side. `side` is its place, the reference being 0.

    `step` is the verdict against the nearest side before it on which the benchmark ran, whose place is `before`.
    Without `judged` it failed, for which `failure` has the reason, or was not reached.
    """

    ALWAYS: ClassVar[tuple[str, ...]] = ("failure",)

    side: int
    judged: Verdict | None = None
    before: int = 0
    step: Verdict | None = None
    instructions: InstructionChange | None = None
    failure: str = ""

    @property
    def verdict(self) -> VerdictWord | None:
        return None if self.judged is None else self.judged.verdict

    @property
    def is_change(self) -> bool:
        """Whether the time changed between the side before and this one."""
        return self.step is not None and self.step.verdict in _CHANGES


@dataclasses.dataclass(frozen=True)
class MatrixRow:
    """One benchmark on all sides but the reference, in their order. `failure` is that of the reference itself."""

    KIND: ClassVar[str] = "matrix_row"
    ALWAYS: ClassVar[tuple[str, ...]] = ("failure", "warnings")

    order_id: str
    title: str
    cells: tuple[MatrixCell, ...]
    failure: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def reference_seconds(self) -> float | None:
        """Return the time of the reference, as its first comparison saw it."""
        return next((cell.judged.base_seconds for cell in self.cells if cell.judged is not None), None)

    @property
    def changes(self) -> tuple[MatrixCell, ...]:
        """Return the sides at which the time changed."""
        return tuple(cell for cell in self.cells if cell.is_change)

    @property
    def has_failed(self) -> bool:
        return bool(self.failure) or any(cell.failure for cell in self.cells)

    @property
    def largest_change(self) -> float:
        changed = [cell.judged.ratio for cell in self.cells if cell.judged is not None]
        return max((abs(ratio - 1.0) for ratio in changed), default=0.0)


@dataclasses.dataclass(frozen=True)
class MatrixComparison:
    """A whole suite on many sides. The first name is that of the reference."""

    names: tuple[str, ...]
    suite: str
    rows: tuple[MatrixRow, ...] = ()
    warnings: tuple[str, ...] = ()
    margin: float = 0.0
    false_discovery_rate: float = 0.0
    measuring_seconds: float = 0.0
    noise: MachineNoise | None = None

    @property
    def by_importance(self) -> tuple[MatrixRow, ...]:
        """What is slower somewhere first, then what is faster, then the rest; the largest change first in each."""
        return tuple(sorted(self.rows, key=lambda row: (_rank(row), -row.largest_change)))

    def count(self, word: VerdictWord, side: int | None = None) -> int:
        """Return how many cells have this verdict: of one side, or of all."""
        cells = [cell for row in self.rows for cell in row.cells if side is None or cell.side == side]
        return sum(cell.verdict == word for cell in cells)

    @property
    def outcome(self) -> Outcome:
        """What an exit code tells."""
        if self.count("slower"):
            return "slower"
        if any(row.has_failed for row in self.rows):
            return "failed"
        cells = [cell for row in self.rows for cell in row.cells]
        if not cells:
            return "nothing"
        return "undecided" if any(cell.verdict in (None, "undecided") for cell in cells) else "fine"


def _rank(row: MatrixRow) -> int:
    words = {cell.verdict for cell in row.cells}
    for rank, word in enumerate(("slower", "faster", "undecided")):
        if word in words:
            return rank
    return 3 if words - {None} else 4
