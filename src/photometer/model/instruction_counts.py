"""Instructions that a statement executes: in each function, in one repeat, and over several repeats.

FunctionCounts has one count per function (`file:function [object]`), sorted with the largest first, with
torch.utils.benchmark's algebra. CallgrindStats is one repeat, as Timer.collect_callgrind returns it, with torch's
fields and methods; `figures` and `baseline_figures` are ours. InstructionCounts are three figures per run, without the
loop's own cost, and the reason for each repeat that differs. Counts are integers; only "per run" divides them.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple, overload

from photometer.errors import MeasurementError
from photometer.model.records import Key, Positive
from photometer.model.task import TaskSpec
from photometer.model.visible_text import visible

if TYPE_CHECKING:
    from photometer.report.plots import Plot


SHOWN_ROWS = 18
"""As many rows as leave room for a prompt on a terminal of 24 lines."""

_SMALLEST_NAME_WIDTH = 40
_ELLIPSIS = " ... "

NOISY_FUNCTION = "dictobject.c:lookdict_unicode"
"""What torch's `denoise` takes away: CPython's look-up of names, whose collisions depend on the hash seed.

CPython 3.11 and later have no function of exactly this name, so `denoise` takes nothing away there, as in torch.
"""


class FunctionCount(NamedTuple):
    """A count and the function it belongs to."""

    # A tuple, because callers write `for count, function in counts`.

    count: int  # type: ignore[assignment]  # torch's field name hides tuple.count
    function: str


@dataclass(frozen=True, repr=False, eq=False)
class FunctionCounts:
    """Counts of functions, largest first. `inclusive` counts hold those of the functions called as well."""

    _data: Annotated[tuple[FunctionCount, ...], Key("functions")]
    inclusive: bool
    truncate_rows: bool = True
    _linewidth: Annotated[int | None, Key("linewidth")] = None

    @classmethod
    def from_mapping(cls, counts: Mapping[str, int], *, inclusive: bool) -> FunctionCounts:
        """Return one row per function, without those whose count is zero."""
        rows = (FunctionCount(count, function) for function, count in counts.items() if count)
        return cls(tuple(sorted(rows, reverse=True)), inclusive)

    def __iter__(self) -> Iterator[FunctionCount]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    @overload
    def __getitem__(self, item: int) -> FunctionCount: ...

    @overload
    def __getitem__(self, item: slice) -> FunctionCounts: ...

    def __getitem__(self, item: int | slice) -> FunctionCount | FunctionCounts:
        """Return a row by its place, or a FunctionCounts of some rows (which then prints all of them)."""
        if isinstance(item, slice):
            return FunctionCounts(self._data[item], self.inclusive, truncate_rows=False)
        return self._data[item]

    def __add__(self, other: FunctionCounts) -> FunctionCounts:
        return self._combined(other, +1)

    def __sub__(self, other: FunctionCounts) -> FunctionCounts:
        return self._combined(other, -1)

    def __mul__(self, factor: int | float) -> FunctionCounts:
        """Return every count times `factor`, cut to an integer: `counts * (1 / 100)` are counts per run."""
        return self.from_mapping(_summed((int(c * factor), f) for c, f in self), inclusive=self.inclusive)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FunctionCounts):
            return NotImplemented
        return self.inclusive == other.inclusive and self._data == other._data

    def __hash__(self) -> int:
        return hash((self.inclusive, self._data))

    def __repr__(self) -> str:
        width = max((len(str(count)) for count, _ in self), default=0)
        line_width = self._linewidth or shutil.get_terminal_size().columns
        name_width = max(line_width - width - 4, _SMALLEST_NAME_WIDTH)
        rows = [f"  {count:>{width}}  {_shortened(function, name_width)}" for count, function in self]
        if self.truncate_rows and len(rows) > SHOWN_ROWS:
            half = SHOWN_ROWS // 2
            rows = [*rows[:half], "...".rjust(width + 2), *rows[-half:]]
        kind = "inclusive" if self.inclusive else "exclusive"
        plural = "" if len(self) == 1 else "s"
        head = f"<photometer.{type(self).__qualname__}: {len(self)} function{plural}, {kind}>"
        # The sum of inclusive counts counts everything once for each caller, so it would mean nothing.
        foot = [] if self.inclusive else ["", f"Total: {self.sum()}"]
        return "\n".join([head, *rows, *foot])

    def transform(self, map_fn: Callable[[str], str]) -> FunctionCounts:
        """Rename every function; those that get the same name are added together."""
        return self.from_mapping(_summed((c, map_fn(f)) for c, f in self), inclusive=self.inclusive)

    def filter(self, filter_fn: Callable[[str], bool]) -> FunctionCounts:
        """Return only the functions for whose name `filter_fn` is true."""
        return FunctionCounts(tuple(row for row in self if filter_fn(row.function)), self.inclusive)

    def sum(self) -> int:
        """Return the sum of all counts: the instructions of the whole run if counts are exclusive."""
        return sum(count for count, _ in self)

    def denoise(self) -> FunctionCounts:
        """Return the counts without CPython's dictionary look-up by name (see NOISY_FUNCTION), as torch does it.

        For a count that does not depend on the memory layout, see InstructionCounts.outside_allocator.
        """
        return self.filter(lambda function: NOISY_FUNCTION not in function)

    def _combined(self, other: FunctionCounts, sign: int) -> FunctionCounts:
        if self.inclusive != other.inclusive:
            raise MeasurementError(
                "Inclusive and exclusive counts cannot be combined: they count different things.",
                remedy="Take both from stats(inclusive=True) or both from stats(inclusive=False).",
            )
        counts = _summed(self)
        for count, function in other:
            counts[function] += sign * count
        return self.from_mapping(counts, inclusive=self.inclusive)


def _summed(rows: Iterable[tuple[int, str]]) -> defaultdict[str, int]:
    counts: defaultdict[str, int] = defaultdict(int)
    for count, function in rows:
        counts[function] += count
    return counts


def _shortened(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    left = (width - len(_ELLIPSIS)) // 2
    right = width - len(_ELLIPSIS) - left
    return text[:left] + _ELLIPSIS + text[-right:]


SHOWN_CAUSES = 3
"""So many functions are named in a sentence about a difference; all that were kept are in the record."""


@dataclass(frozen=True)
class InstructionFigures:
    """The three figures, for all runs of a repeat together.

    `outside_allocator` leaves out what depends on the memory layout: everything below a call of an
    allocator (C's, C++'s, Python's), CPython's search for a name in a dictionary, and its look-up of types'
    attributes. It is what two builds are compared by.
    """

    total: int
    outside_allocator: int
    allocator_calls: int

    def __sub__(self, other: InstructionFigures) -> InstructionFigures:
        return InstructionFigures(
            self.total - other.total,
            self.outside_allocator - other.outside_allocator,
            self.allocator_calls - other.allocator_calls,
        )


@dataclass(frozen=True)
class RepeatDifference:
    """A repeat that did not execute the stable number of instructions, and the functions that made the difference."""

    repeat: int
    instructions: int
    functions: tuple[FunctionCount, ...]

    @property
    def reason(self) -> str:
        """One sentence, such as `repeat 1 executed 237 instructions more: +180 gc_collect, +57 free`."""
        size = f"{abs(self.instructions):,} instruction{'' if abs(self.instructions) == 1 else 's'}"
        head = f"repeat {self.repeat + 1} executed {size} {'more' if self.instructions >= 0 else 'fewer'}"
        causes = [f"{count:+,} {function}" for count, function in self.functions[:SHOWN_CAUSES]]
        rest = len(self.functions) - len(causes)
        if rest > 0:
            causes.append(f"{rest} more function{'' if rest == 1 else 's'}")
        return f"{head}: {', '.join(causes)}" if causes else head


@dataclass(frozen=True)
class InstructionCounts:
    """The instructions of `number_per_run` runs of a statement, repeated; instruments.callgrind.figures builds it."""

    KIND: ClassVar[str] = "instruction_counts"
    ALWAYS: ClassVar[tuple[str, ...]] = ("frozen_layout",)

    task_spec: TaskSpec
    number_per_run: int
    repeats: tuple[InstructionFigures, ...]
    loop_baseline: InstructionFigures | None = None
    top_functions: tuple[FunctionCount, ...] = ()
    differences: tuple[RepeatDifference, ...] = ()
    events: Mapping[str, int] = field(default_factory=dict, hash=False)
    frozen_layout: bool = True
    reasons: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.number_per_run < 1:
            raise MeasurementError(f"number_per_run must be at least 1, not {self.number_per_run}")
        if not self.repeats:
            raise MeasurementError(
                "Instruction counts need at least one repeat.", remedy="Measure with repeats=1 or more."
            )
        if not self.frozen_layout and not self.reasons:
            raise MeasurementError("Counts whose layout was not frozen must say why.", remedy="Give `reasons`.")

    @property
    def totals(self) -> tuple[int, ...]:
        """All instructions of each repeat."""
        return tuple(repeat.total for repeat in self.repeats)

    @property
    def outside_allocator(self) -> tuple[int, ...]:
        """The instructions of each repeat that do not depend on the memory layout (see InstructionFigures)."""
        return tuple(repeat.outside_allocator for repeat in self.repeats)

    @property
    def allocator_calls(self) -> tuple[int, ...]:
        """Calls of the allocators in each repeat."""
        return tuple(repeat.allocator_calls for repeat in self.repeats)

    @property
    def stable_repeat(self) -> int:
        """Which repeat stands for all (see stable_repeat_of)."""
        return stable_repeat_of(self.totals)

    @property
    def stable(self) -> InstructionFigures:
        """The figures that most repeats have."""
        return self.repeats[self.stable_repeat]

    @property
    def is_exact(self) -> bool:
        """Whether every repeat executed the same outside the allocator, and called it as often."""
        return len({(repeat.outside_allocator, repeat.allocator_calls) for repeat in self.repeats}) == 1

    @property
    def without_loop(self) -> InstructionFigures:
        """The stable figures less those of the empty loop, if that was measured."""
        return self.stable if self.loop_baseline is None else self.stable - self.loop_baseline

    @property
    def instructions_per_run(self) -> float:
        """All instructions of one run of the statement, without the loop around it."""
        return self.without_loop.total / self.number_per_run

    @property
    def outside_allocator_per_run(self) -> float:
        """The same without the allocators' part."""
        return self.without_loop.outside_allocator / self.number_per_run

    @property
    def allocator_calls_per_run(self) -> float:
        """Calls of the allocators by one run of the statement."""
        return self.without_loop.allocator_calls / self.number_per_run

    @property
    def difference_reasons(self) -> tuple[str, ...]:
        """A sentence for each repeat that differs from the stable value."""
        return tuple(difference.reason for difference in self.differences)

    def __repr__(self) -> str:
        equal = "all equal" if self.is_exact else "not all equal"
        return (
            f"<photometer.InstructionCounts {self.outside_allocator_per_run:,.1f} per run, "
            f"{self.instructions_per_run:,.1f} with the allocator; "
            f"{len(self.repeats)} repeat{'' if len(self.repeats) == 1 else 's'}, {equal}>"
        )

    def __str__(self) -> str:
        runs = f"{self.number_per_run} run{'' if self.number_per_run == 1 else 's'}"
        repeats = f"{len(self.repeats)} repeat{'' if len(self.repeats) == 1 else 's'}"
        net = "without the loop" if self.loop_baseline is not None else "with the loop"
        lines = [
            visible(self.task_spec.summarize()),
            f"  {self.outside_allocator_per_run:>14,.1f} instructions per run outside the allocator, {net}",
            f"  {self.instructions_per_run:>14,.1f} with the allocator's own",
            f"  {self.allocator_calls_per_run:>14,.2f} calls of the allocator",
            f"  {repeats} of {runs}, {'all exactly equal' if self.is_exact else 'not all equal'}",
            *(f"  {reason}" for reason in self.difference_reasons),
        ]
        if not self.frozen_layout:
            lines.append("  not frozen: " + "; ".join(self.reasons))
        return "\n".join(lines)

    def plot(self) -> Plot:
        """Return a picture of the costliest functions, for a notebook or a file."""
        from photometer.report.plots import plot_counts

        return plot_counts(self)

    def _repr_html_(self) -> str:
        from photometer.report.notebook import counts_html

        return counts_html(self)


def stable_repeat_of(totals: Iterable[int]) -> int:
    """Return the last of the repeats that share the most frequent total; of several such totals, the last one.

    The last and not the first, because what settles (caches, the specialising interpreter) settles with time.
    """
    ordered = list(totals)
    occurrences = Counter(ordered)
    return max(range(len(ordered)), key=lambda repeat: (occurrences[ordered[repeat]], repeat))


_BUILD_FOLDERS = (
    # PyTorch, built in whatever folder.
    (re.compile(r"^.+build/\.\./"), "build/../"),
    (re.compile(r"^.+/build/aten/"), "build/aten/"),
    # CPython's source folders.
    (re.compile(r"^.+/(Python|Objects|Modules|Include|Parser)/"), r"\1/"),
)
_OBJECT = re.compile(r"\s\[[^\[\]]+\]$")


def standardized_function(function: str) -> str:
    """Return `file:function [object]` without the folder it was built in and without the object it came from."""
    file, colon, name = _OBJECT.sub("", function).partition(":")
    for pattern, replacement in _BUILD_FOLDERS:
        file = pattern.sub(replacement, file)
    return file + colon + name


@dataclass(frozen=True, repr=False, eq=False)
class CallgrindStats:
    """One repeat. The baseline is the same number of runs of `pass`, empty if it was not requested."""

    KIND: ClassVar[str] = "callgrind_stats"

    task_spec: TaskSpec
    number_per_run: Positive
    built_with_debug_symbols: bool
    baseline_inclusive_stats: FunctionCounts
    baseline_exclusive_stats: FunctionCounts
    stmt_inclusive_stats: FunctionCounts
    stmt_exclusive_stats: FunctionCounts
    stmt_callgrind_out: str | None
    figures: InstructionFigures | None = None
    baseline_figures: InstructionFigures | None = None

    def __repr__(self) -> str:
        baseline = self.baseline_exclusive_stats
        threads = self.task_spec.num_threads
        lines = [
            f"<photometer.{type(self).__qualname__}>",
            self.task_spec.summarize(),
            f"{'':<16}{'outside the allocator':>24}{'all':>14}{'denoised':>14}",
            f"  {'Instructions':<14}{_outside(self.figures):>24}{self.counts():>14,}{self.counts(denoise=True):>14,}",
            f"  {'Baseline':<14}{_outside(self.baseline_figures):>24}"
            f"{baseline.sum():>14,}{baseline.denoise().sum():>14,}",
            f"{self.number_per_run} runs per measurement, {threads} thread{'' if threads == 1 else 's'}",
        ]
        if not self.built_with_debug_symbols:
            lines.append("This torch has no debug symbols: its functions are named, but not their source files.")
        return "\n".join(lines)

    def stats(self, inclusive: bool = False) -> FunctionCounts:
        """Return the counts of each function: its own instructions; with `inclusive`, those of its callees, too."""
        return self.stmt_inclusive_stats if inclusive else self.stmt_exclusive_stats

    def counts(self, *, denoise: bool = False) -> int:
        """Return the number of executed instructions; `denoise` as in FunctionCounts.denoise."""
        stats = self.stmt_exclusive_stats
        return (stats.denoise() if denoise else stats).sum()

    def delta(self, other: CallgrindStats, inclusive: bool = False) -> FunctionCounts:
        """Return how much more each function executed here than in `other`. Standardize both if their builds differ."""
        return self.stats(inclusive=inclusive) - other.stats(inclusive=inclusive)

    def as_standardized(self) -> CallgrindStats:
        """Return the same without the folders of builds and the names of libraries in the functions' names.

        Two builds of torch or Python lie in different folders; with these in the names nothing would cancel in `delta`.
        The text of the output file no longer fits then and is dropped.
        """
        return replace(
            self,
            baseline_inclusive_stats=self.baseline_inclusive_stats.transform(standardized_function),
            baseline_exclusive_stats=self.baseline_exclusive_stats.transform(standardized_function),
            stmt_inclusive_stats=self.stmt_inclusive_stats.transform(standardized_function),
            stmt_exclusive_stats=self.stmt_exclusive_stats.transform(standardized_function),
            stmt_callgrind_out=None,
        )


def _outside(figures: InstructionFigures | None) -> str:
    return "–" if figures is None else f"{figures.outside_allocator:,}"
