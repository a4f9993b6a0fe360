"""What a comparison of two environments says: one ComparisonResult a benchmark, and all of them together.

Frozen records without text layout. ComparisonResult stands in the results file as kind "comparison"; the samples it
was judged by stand there as "comparison_replicate".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from photometer.analysis.cause import InstructionChange
from photometer.analysis.memory_change import MemoryChange, MemoryWord
from photometer.analysis.metric_change import MetricChange
from photometer.analysis.sweep_summary import SweepSummary
from photometer.analysis.verdict import VERDICT_WORDS, Verdict, VerdictWord
from photometer.analysis.verdict_reason import change, percent
from photometer.model.machine import MachineNoise
from photometer.model.records import Key
from photometer.model.visible_text import visible

if TYPE_CHECKING:
    import pandas

    from photometer.report.plots import Plot

Outcome = Literal["slower", "failed", "undecided", "fine", "nothing"]
# The order in which a reader wants to see them.
_RANK: dict[str, int] = {"slower": 0, "undecided": 1, "faster": 2, "same": 3, "identical": 4}


@dataclass(frozen=True)
class ComparisonResult:
    """One benchmark: the branch against the base."""

    KIND: ClassVar[str] = "comparison"
    ALWAYS: ClassVar[tuple[str, ...]] = ("cause", "instructions", "layout_ratios", "warnings")

    order_id: str
    title: str
    judged: Annotated[Verdict, Key("verdict")]
    cause: str = ""
    instructions: InstructionChange | None = None
    layout_ratios: tuple[float, ...] = ()
    warnings: tuple[str, ...] = ()
    # What one run allocates on both sides: a verdict of its own.
    memory: MemoryChange | None = None
    # Why the author of the branch accepts what changed, if they do.
    accepted: str = ""

    def __repr__(self) -> str:
        return f"<photometer.ComparisonResult {self.title!r}: {self.verdict}, {change(self.ratio)}>"

    def __str__(self) -> str:
        """Return the verdict's two lines, with the benchmark and the cause."""
        cause = f" {self.cause}." if self.cause else ""
        return f"{visible(self.title)}: {self.judged}{cause}"

    def _repr_html_(self) -> str:
        from photometer.report.notebook import result_html

        return result_html(self)

    @property
    def verdict(self) -> VerdictWord:
        return self.judged.verdict

    @property
    def ratio(self) -> float:
        return self.judged.ratio

    @property
    def interval(self) -> tuple[float, float]:
        return self.judged.interval

    @property
    def difference_seconds(self) -> float:
        return self.judged.difference_seconds


@dataclass(frozen=True)
class ComparisonFailure:
    """A benchmark without a verdict: on which side it failed, and how. `side` is empty if it is not known."""

    KIND: ClassVar[str] = "comparison_failure"

    order_id: str
    title: str
    side: str
    message: str
    log: str = ""


@dataclass(frozen=True)
class ComparisonRemarks:
    """What must be said of a comparison as a whole: of the two sides, and of the machine meanwhile."""

    KIND: ClassVar[str] = "comparison_remarks"
    ALWAYS: ClassVar[tuple[str, ...]] = ("warnings",)

    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class EnvironmentComparison:
    """A whole suite, branch against base. Iterating gives the results, what matters most first."""

    base: str
    branch: str
    suite: str
    results: tuple[ComparisonResult, ...]
    failures: tuple[ComparisonFailure, ...] = ()
    not_reached: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    margin: float = 0.0
    false_discovery_rate: float = 0.0
    measuring_seconds: float = 0.0
    noise: MachineNoise | None = None
    # Benchmarks with sizes, each over all of its points.
    sweeps: tuple[SweepSummary, ...] = ()
    # Numbers that the statements left in their variables, on both sides.
    metrics: tuple[MetricChange, ...] = ()

    def __iter__(self) -> Iterator[ComparisonResult]:
        return iter(self.by_importance)

    def __repr__(self) -> str:
        counts = [f"{self.count(word)} {word}" for word in VERDICT_WORDS if self.count(word)]
        counts += [f"{len(self.failures)} failed"] if self.failures else []
        return f"<photometer.EnvironmentComparison of {self.suite}: {', '.join(counts) or 'nothing compared'}>"

    def __str__(self) -> str:
        from photometer.report.verdict_text import render_verdicts

        return render_verdicts(self).rstrip("\n")

    @property
    def margin_words(self) -> str:
        """Return the margin as text; from the smallest to the largest if benchmarks have margins of their own."""
        margins = [result.judged.margin for result in self.results] or [self.margin]
        low, high = percent(min(margins)), percent(max(margins))
        return low if low == high else f"{low} to {high}, depending on the benchmark,"

    def plot(self) -> Plot:
        """Return a picture of all changes with their intervals, for a notebook or a file."""
        from photometer.report.plots import plot_comparison

        return plot_comparison(self)

    def _repr_html_(self) -> str:
        from photometer.report.notebook import comparison_html

        return comparison_html(self)

    def to_dataframe(self) -> pandas.DataFrame:
        """Return a DataFrame with one row per benchmark, what matters most first. Needs pandas."""
        from photometer.analysis.result_rows import rows_of
        from photometer.model.data_frame import data_frame

        return data_frame(row for result in self.by_importance for row in rows_of(result))

    def __len__(self) -> int:
        return len(self.results)

    @property
    def by_importance(self) -> tuple[ComparisonResult, ...]:
        """Slower first, then undecided, faster, same and identical; the largest change first in each."""
        return tuple(sorted(self.results, key=lambda r: (_RANK[r.verdict], -abs(r.ratio - 1.0))))

    def memory_changes(self, *words: MemoryWord) -> list[ComparisonResult]:
        """Return the results whose memory has one of these verdicts."""
        return [result for result in self.results if result.memory is not None and result.memory.verdict in words]

    def count(self, word: VerdictWord) -> int:
        """Return the number of benchmarks with that verdict."""
        return sum(result.verdict == word for result in self.results)

    @property
    def verdict(self) -> VerdictWord:
        """Of all together: slower if anything is; same if nothing is left open and nothing changed."""
        if self.count("slower"):
            return "slower"
        if self.count("undecided") or self.not_reached or self.failures or not self.results:
            return "undecided"
        return "faster" if self.count("faster") else "same"

    @property
    def outcome(self) -> Outcome:
        """What an exit code tells."""
        if any(result.verdict == "slower" and not result.accepted for result in self.results):
            return "slower"
        if self.failures:
            return "failed"
        if not self.results and not self.not_reached:
            return "nothing"
        return "undecided" if self.count("undecided") or self.not_reached else "fine"
