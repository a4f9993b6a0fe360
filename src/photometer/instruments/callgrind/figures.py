"""From profiles to figures: what the repeats of a statement executed, which value is stable, and why another differs.

In come the profiles of the repeats, in order, and the figures of the empty loop; out goes an InstructionCounts.
"""

from __future__ import annotations

from collections.abc import Sequence

from photometer.errors import MeasurementError
from photometer.instruments.callgrind.allocator import allocator_share
from photometer.instruments.callgrind.annotate import exclusive_counts, function_name
from photometer.instruments.callgrind.profile import CallgrindProfile
from photometer.model.function_counts import FunctionCount, FunctionCounts
from photometer.model.instruction_counts import (
    InstructionCounts,
    InstructionFigures,
    RepeatDifference,
    stable_repeat_of,
)
from photometer.model.task import TaskSpec

TOP_FUNCTIONS = 50
"""Enough for a table and for most of the instructions, at some 5 KB a statement in a results file."""

CAUSES_KEPT = 10
"""Functions kept for a repeat that differs; the largest few tell the cause."""


def figures_of(profile: CallgrindProfile) -> InstructionFigures:
    """The three figures of one dump."""
    share = allocator_share(profile)
    return InstructionFigures(profile.total(), share.outside_instructions, share.calls)


def instruction_counts(
    task_spec: TaskSpec,
    number_per_run: int,
    profiles: Sequence[CallgrindProfile],
    *,
    loop_baseline: InstructionFigures | None = None,
    frozen_layout: bool = True,
    reasons: Sequence[str] = (),
) -> InstructionCounts:
    """All that is kept of the repeats of one statement."""
    if not profiles:
        raise MeasurementError("Instruction counts need at least one repeat.", remedy="Measure with repeats=1 or more.")
    repeats = tuple(figures_of(profile) for profile in profiles)
    stable = stable_repeat_of(repeat.total for repeat in repeats)
    stable_counts = exclusive_counts(profiles[stable])
    return InstructionCounts(
        task_spec=task_spec,
        number_per_run=number_per_run,
        repeats=repeats,
        loop_baseline=loop_baseline,
        top_functions=tuple(stable_counts[:TOP_FUNCTIONS]),
        differences=tuple(
            RepeatDifference(
                index, figures.total - repeats[stable].total, _causes(exclusive_counts(profiles[index]), stable_counts)
            )
            for index, figures in enumerate(repeats)
            if figures.total != repeats[stable].total
        ),
        events=dict(zip(profiles[stable].events, profiles[stable].totals, strict=True)),
        frozen_layout=frozen_layout,
        reasons=tuple(reasons),
    )


def _causes(counts: FunctionCounts, stable_counts: FunctionCounts) -> tuple[FunctionCount, ...]:
    """The functions that differ, the largest change first whatever its sign; by name, for they go into a sentence."""
    changes = (counts - stable_counts).transform(function_name)
    return tuple(sorted(changes, key=lambda row: -abs(row.count))[:CAUSES_KEPT])
