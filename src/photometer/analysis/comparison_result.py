"""What a comparison says: benchmarks × sides, each against the reference and against the side before it.

Frozen records without text layout. ComparisonResult, one benchmark on one side, is the record of kind "comparison" in
the results file; the samples that it was judged by are there as "comparison_replicate".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeVar

from photometer.analysis.cause import InstructionChange
from photometer.analysis.figure_change import FigureChange, MemoryChange, MemoryWord, MetricChange
from photometer.analysis.sweep_summary import SweepSummary
from photometer.analysis.verdict import CHANGED_WORDS, VERDICT_WORDS, Verdict, VerdictWord
from photometer.errors import MeasurementError
from photometer.model.machine import MachineNoise
from photometer.model.records import Key
from photometer.model.units import change, percent
from photometer.model.visible_text import visible

if TYPE_CHECKING:
    import pandas

    from photometer.report.plots import Plot

# "broken" is a rule of --fail-on that is not about a comparison.
Outcome = Literal["slower", "broken", "failed", "undecided", "fine", "nothing"]
_Unjudged = TypeVar("_Unjudged", bound="ComparisonFailure")
# What the sides are called if there are two.
SIDE_NAMES = ("base", "branch")
_RANK: dict[str, int] = {word: place for place, word in enumerate(VERDICT_WORDS)}


@dataclass(frozen=True)
class ComparisonResult:
    """One benchmark on one side: its verdict against the reference, and `step`, that against the side before it.

    `side` is its position, that of the reference being 0. `before` is the nearest side before it on which the benchmark
    ran; without `step` that is the reference.
    """

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
    # Other exact figures of both sides, such as simulated cache misses.
    figures: tuple[FigureChange, ...] = ()
    # Why the author of the branch accepts what changed, if they do.
    accepted: str = ""
    side: int = 1
    before: int = 0
    step: Verdict | None = None

    def __repr__(self) -> str:
        return f"<photometer.ComparisonResult {self.title!r}: {self.judged.words}, {change(self.ratio)}>"

    def __str__(self) -> str:
        """Return the verdict's two lines, with the benchmark and the cause."""
        cause = f" {self.cause}." if self.cause else ""
        return f"{visible(self.title)}: {self.judged}{cause}"

    def _repr_html_(self) -> str:
        from photometer.report.notebook import result_html

        return result_html(self)

    @property
    def verdict(self) -> VerdictWord:
        """Return the word of the verdict."""
        return self.judged.verdict

    @property
    def ratio(self) -> float:
        """Return the time relative to the reference; 1.05 is 5 % slower."""
        return self.judged.ratio

    @property
    def interval(self) -> tuple[float, float]:
        """Return the ends between which the ratio lies."""
        return self.judged.interval

    @property
    def difference_seconds(self) -> float:
        """Return the difference in seconds per run."""
        return self.judged.difference_seconds

    @property
    def latest(self) -> Verdict:
        """Return the verdict against the side before it."""
        return self.judged if self.step is None else self.step

    @property
    def is_change(self) -> bool:
        """Whether the time changed between the side before and this one."""
        return self.latest.verdict in CHANGED_WORDS


@dataclass(frozen=True)
class ComparisonFailure:
    """A benchmark without a verdict: the side on which it failed, and how.

    `side` is "base" or "branch" if there are two, and the side's name if there are more; it is empty if it is not
    known. `place` is the side's position.
    """

    KIND: ClassVar[str] = "comparison_failure"

    order_id: str
    title: str
    side: str
    message: str
    log: str = ""
    place: int | None = None


@dataclass(frozen=True)
class ComparisonSkip(ComparisonFailure):
    """A benchmark without a verdict because it says itself that it does not apply: on one side, or on all (no `place`).

    `message` is its reason.
    """

    KIND: ClassVar[str] = "comparison_skip"


@dataclass(frozen=True)
class ComparisonRow:
    """One benchmark on all sides: its results, failures and skips by the position of the side."""

    order_id: str
    title: str
    cells: Mapping[int, ComparisonResult]
    failures: Mapping[int, ComparisonFailure]
    skips: Mapping[int, ComparisonSkip]

    @property
    def reference_seconds(self) -> float | None:
        """Return the time of the reference, as its first comparison saw it."""
        return next((cell.judged.base_seconds for _, cell in sorted(self.cells.items())), None)

    @property
    def changes(self) -> tuple[ComparisonResult, ...]:
        """Return the results of the sides at which the time changed."""
        return tuple(cell for _, cell in sorted(self.cells.items()) if cell.is_change)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(text for _, cell in sorted(self.cells.items()) for text in cell.warnings))

    @property
    def importance(self) -> tuple[int, float]:
        """Return a key that sorts rows: slower somewhere first, then probably slower, …; the largest change first."""
        rank = min((_RANK[cell.verdict] for cell in self.cells.values()), default=len(_RANK))
        return rank, -max((abs(cell.ratio - 1.0) for cell in self.cells.values()), default=0.0)


@dataclass(frozen=True)
class ComparisonRemarks:
    """Remarks on a comparison as a whole: on its sides, and on the machine during it."""

    KIND: ClassVar[str] = "comparison_remarks"
    ALWAYS: ClassVar[tuple[str, ...]] = ("warnings",)

    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class EnvironmentComparison:
    """A whole suite on two or more sides; the first is the reference. Iterating gives the most important results first.

    `not_reached` are the titles of benchmarks, with the side if there are more than two.
    """

    names: tuple[str, ...]
    suite: str
    results: tuple[ComparisonResult, ...]
    failures: tuple[ComparisonFailure, ...] = ()
    skips: tuple[ComparisonSkip, ...] = ()
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

    def __post_init__(self) -> None:
        """Refuse results of sides that do not exist: a file may contain anything."""
        places = [each.side for each in self.results] + [each.place or 1 for each in (*self.failures, *self.skips)]
        places += [each.side for each in self.metrics] + [each.side for each in self.sweeps]
        befores_fit = all(0 <= each.before < each.side for each in self.results)
        if len(self.names) < 2 or not befores_fit or not all(0 < place < len(self.names) for place in places):
            raise MeasurementError("a comparison has results of sides that it does not have")

    @property
    def base(self) -> str:
        """Return the reference."""
        return self.names[0]

    @property
    def branch(self) -> str:
        """Return the side that is compared with the base; the first if there are several."""
        return self.names[1]

    @property
    def has_many_sides(self) -> bool:
        """Return whether more than one side is compared with the reference."""
        return len(self.names) > 2

    @cached_property
    def rows(self) -> tuple[ComparisonRow, ...]:
        """Return one row per benchmark, the most important first."""
        cells: dict[str, dict[int, ComparisonResult]] = {}
        failures: dict[str, dict[int, ComparisonFailure]] = {}
        skips: dict[str, dict[int, ComparisonSkip]] = {}
        titles: dict[str, str] = {}
        for result in self.results:
            cells.setdefault(result.order_id, {})[result.side] = result
            titles.setdefault(result.order_id, result.title)
        for failure in self.failures:
            failures.setdefault(failure.order_id, {}).update(dict.fromkeys(self._places_of(failure), failure))
            titles.setdefault(failure.order_id, failure.title)
        for skip in self.skips:
            skips.setdefault(skip.order_id, {}).update(dict.fromkeys(self._places_of(skip), skip))
            titles.setdefault(skip.order_id, skip.title)
        rows = [
            ComparisonRow(order_id, title, cells.get(order_id, {}), failures.get(order_id, {}), skips.get(order_id, {}))
            for order_id, title in titles.items()
        ]
        return tuple(sorted(rows, key=lambda row: row.importance))

    def of_side(self, side: int) -> EnvironmentComparison:
        """Return the comparison of one side with the reference, as one of two sides."""
        if not self.has_many_sides:
            return self
        name = self.names[side]

        def of_pair(found: Sequence[_Unjudged]) -> tuple[_Unjudged, ...]:
            return tuple(
                each if _has_no_side(each) else replace(each, place=min(place, 1), side=SIDE_NAMES[min(place, 1)])
                for each in found
                for place in self._places_of(each)
                if place in (0, side)
            )

        return replace(
            self,
            names=(self.names[0], name),
            results=tuple(replace(each, side=1, before=0, step=None) for each in self.results if each.side == side),
            failures=of_pair(self.failures),
            skips=of_pair(self.skips),
            not_reached=tuple(
                title.removesuffix(not_reached_on(name))
                for title in self.not_reached
                if title.endswith(not_reached_on(name))
            ),
            metrics=tuple(replace(each, side=1) for each in self.metrics if each.side == side),
            sweeps=tuple(replace(each, side=1) for each in self.sweeps if each.side == side),
        )

    def titled_by_side(self) -> EnvironmentComparison:
        """Return the comparison with the names of the sides in all titles, for lists with an entry per side."""
        if not self.has_many_sides:
            return self

        def titled(title: str, place: int) -> str:
            return f"{title} on {self.names[place]}"

        def with_sides(found: Sequence[_Unjudged]) -> tuple[_Unjudged, ...]:
            return tuple(
                each if _has_no_side(each) else replace(each, title=titled(each.title, self._places_of(each)[0]))
                for each in found
            )

        return replace(
            self,
            results=tuple(replace(each, title=titled(each.title, each.side)) for each in self.results),
            failures=with_sides(self.failures),
            skips=with_sides(self.skips),
        )

    def _places_of(self, failure: ComparisonFailure) -> tuple[int, ...]:
        """Return the positions of the sides that lack a verdict; all if it is not known which one failed."""
        if failure.place is not None:
            return (failure.place,)
        # Files of earlier versions have only its name.
        return (SIDE_NAMES.index(failure.side),) if failure.side in SIDE_NAMES else tuple(range(1, len(self.names)))

    @property
    def pairs(self) -> tuple[EnvironmentComparison, ...]:
        """Return each side beside the reference, as a comparison of two sides."""
        return tuple(self.of_side(side) for side in range(1, len(self.names)))

    def __iter__(self) -> Iterator[ComparisonResult]:
        return iter(self.by_importance)

    def __repr__(self) -> str:
        counts = [f"{self.count(word)} {word}" for word in VERDICT_WORDS if self.count(word)]
        counts += [f"{len(self.failures)} failed"] if self.failures else []
        counts += [f"{self.skipped} skipped"] if self.skips else []
        return f"<photometer.EnvironmentComparison of {self.suite}: {', '.join(counts) or 'nothing compared'}>"

    def __str__(self) -> str:
        from photometer.report.comparison_text import render_comparison

        return render_comparison(self).rstrip("\n")

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
        """Return slower first, and the others as VERDICT_WORDS orders them; the largest change first in each."""
        return tuple(sorted(self.results, key=lambda r: (_RANK[r.verdict], -abs(r.ratio - 1.0))))

    def memory_changes(self, *words: MemoryWord) -> list[ComparisonResult]:
        """Return the results whose memory has one of these verdicts."""
        return [result for result in self.results if result.memory is not None and result.memory.verdict in words]

    def count(self, word: VerdictWord) -> int:
        """Return the number of benchmarks with that verdict."""
        return sum(result.verdict == word for result in self.results)

    @property
    def skipped(self) -> int:
        """Return the number of benchmarks that were skipped on some side."""
        return len({each.order_id for each in self.skips})

    @property
    def verdict(self) -> VerdictWord:
        """Return one word for all together: slower if any is; same if nothing is undecided and nothing changed."""
        if self.count("slower"):
            return "slower"
        if self.count("probably slower"):
            return "probably slower"
        if self.count("undecided") or self.not_reached or self.failures or not (self.results or self.skips):
            return "undecided"
        return next((word for word in ("faster", "probably faster") if self.count(word)), "same")

    @property
    def bound(self) -> float | None:
        """Return the largest difference that unchanged benchmarks can have; None if none is the same."""
        return max((bound for each in self.results if (bound := each.judged.bound) is not None), default=None)

    @property
    def outcome(self) -> Outcome:
        """Return the exit status if everything that is slower or undecided matters."""
        from photometer.analysis.gate import SLOWER, UNDECIDED, Gate

        return Gate((SLOWER, UNDECIDED)).judge(self).outcome


def side_label(names: Sequence[str], place: int) -> str:
    """Return the name of a side in messages: base or branch, or its own name if there are more than two."""
    return SIDE_NAMES[place] if len(names) == 2 else names[place]


# Of a benchmark for which the budget or the limit left no time.
NOT_REACHED = "not reached in time"


def not_reached_on(name: str) -> str:
    """Return the words after the title of a benchmark that was not reached on one of several sides."""
    return f" on {name}"


def merged(parts: Sequence[EnvironmentComparison]) -> EnvironmentComparison:
    """Return comparisons of parts of one suite, with the same sides, as one."""
    first = parts[0]
    return replace(
        first,
        results=tuple(each for part in parts for each in part.results),
        failures=tuple(each for part in parts for each in part.failures),
        skips=tuple(each for part in parts for each in part.skips),
        not_reached=tuple(each for part in parts for each in part.not_reached),
        warnings=tuple(dict.fromkeys(each for part in parts for each in part.warnings)),
        measuring_seconds=sum(part.measuring_seconds for part in parts),
        sweeps=tuple(each for part in parts for each in part.sweeps),
        metrics=tuple(each for part in parts for each in part.metrics),
    )


def _has_no_side(failure: ComparisonFailure) -> bool:
    return failure.place is None and failure.side not in SIDE_NAMES
