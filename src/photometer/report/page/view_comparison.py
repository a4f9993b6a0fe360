"""ComparisonView: all that the page says of one benchmark of a comparison, always of the branch against the base."""

from __future__ import annotations

import dataclasses

from photometer.report.page.view_benchmark import CodeView, FunctionRow, Stack

# What a reader acts on comes first; "same" is what may be skipped.
VERDICT_ORDER = ("slower", "undecided", "faster", "same")


@dataclasses.dataclass(frozen=True)
class LayoutBand:
    """How far the luck of the memory layout alone moves a figure: its lowest and highest, as ratios to the base."""

    low: float
    high: float
    layouts: int


@dataclasses.dataclass(frozen=True)
class SideView:
    """One side: its samples (seconds per run) and, where they were counted, its instructions of one run."""

    samples: tuple[float, ...] = ()
    instructions: float | None = None
    stacks: tuple[Stack, ...] = ()


@dataclasses.dataclass(frozen=True)
class ComparisonView:
    """`ratio` 1.01 is one per cent slower. An end of `interval` may be 0 or infinite where too little is known."""

    id: str
    path: tuple[str, ...]
    words: tuple[str, ...]
    verdict: str
    ratio: float
    interval: tuple[float, float]
    difference_seconds: float
    base_seconds: float
    sentence: str
    code: CodeView
    base: SideView = dataclasses.field(default_factory=SideView)
    branch: SideView = dataclasses.field(default_factory=SideView)
    # Each side's stacks are of so many runs together.
    stack_runs: int = 1
    replicates: int = 0
    margin: float = 0.0
    detectable: float | None = None
    instruction_ratio: float | None = None
    functions: tuple[FunctionRow, ...] = ()
    layout_band: LayoutBand | None = None
    cause: str = ""
    notes: tuple[str, ...] = ()
    paired: bool = True

    @property
    def group(self) -> str:
        return self.path[0] if len(self.path) > 1 else ""

    @property
    def name(self) -> str:
        return " › ".join(self.path[1:] if len(self.path) > 1 else self.path)

    @property
    def rank(self) -> tuple[int, float]:
        """Sorts as a reader wants it: by verdict, then the largest change first."""
        place = VERDICT_ORDER.index(self.verdict) if self.verdict in VERDICT_ORDER else len(VERDICT_ORDER)
        return place, -abs(self.ratio - 1.0)
