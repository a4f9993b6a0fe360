"""CallgrindStats: the counts of every function in one repeat of a statement, as Timer.collect_callgrind returns it.

The fields and methods are those of torch.utils.benchmark; `figures` and `baseline_figures` are ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import ClassVar

from photometer.model.function_counts import FunctionCounts
from photometer.model.instruction_counts import InstructionFigures
from photometer.model.records import Positive
from photometer.model.task import TaskSpec

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
