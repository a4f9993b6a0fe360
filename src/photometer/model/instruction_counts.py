"""InstructionCounts: how many instructions a statement executes, in three figures, over several repeats.

In come the counts of each repeat and of the empty loop; out go the stable value, the figures per run with the loop's
own cost taken away, and the reason for each repeat that differs. Counts are integers; only "per run" divides them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from photometer.errors import MeasurementError
from photometer.model.function_counts import FunctionCount
from photometer.model.task import TaskSpec
from photometer.model.visible_text import visible

if TYPE_CHECKING:
    from photometer.report.plots import Plot

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
