"""From profiles to figures: counts per function, and what the repeats of a statement executed.

In: CallgrindProfiles. Out: FunctionCounts as callgrind_annotate prints them (`file:function [object]`), without running
it. Two differences are deliberate: the object is named for inlined code, too, and functions of the same name in two
objects are kept apart (callgrind_annotate adds them up under the object it saw last). The profiles of the repeats and
the figures of the empty loop give an InstructionCounts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence

from photometer.errors import MeasurementError
from photometer.instruments.callgrind.layout_dependent import allocator_share
from photometer.instruments.callgrind.profile import INSTRUCTIONS, UNKNOWN, CallgrindProfile, Function
from photometer.model.instruction_counts import (
    FunctionCount,
    FunctionCounts,
    InstructionCounts,
    InstructionFigures,
    RepeatDifference,
    stable_repeat_of,
)
from photometer.model.task import TaskSpec

Edge = tuple[Function, str, Function]
"""Calls of one function by another: the caller, its file, and what it calls."""

TOP_FUNCTIONS = 50
"""Enough for a table and for most of the instructions, at about 5 KB per statement in a results file."""

CAUSES_KEPT = 10
"""Functions kept for a repeat that differs; the largest few show the cause."""

_OBJECT = re.compile(r" \[[^\[\]]*/[^\[\]]*\]$")


def function_string(function: Function, file: str | None = None) -> str:
    """Return `file:function [object]`; pass `file` for code of another file that was inlined into the function."""
    shown = f"{function.file if file is None else file}:{function.name}"
    return shown if function.object_path in ("", UNKNOWN) else f"{shown} [{function.object_path}]"


def function_name(function: str) -> str:
    """Return only the function, from a string that function_string made."""
    return _OBJECT.sub("", function.partition(":")[2])


def exclusive_counts(profile: CallgrindProfile, event: str = INSTRUCTIONS) -> FunctionCounts:
    """Return the cost of each function's own instructions. The sum is the profile's total."""
    index = profile.event_index(event)
    counts: defaultdict[str, int] = defaultdict(int)
    for cost in profile.self_costs:
        counts[function_string(cost.function, cost.file)] += cost.costs[index]
    return FunctionCounts.from_mapping(counts, inclusive=False)


def inclusive_counts(profile: CallgrindProfile, event: str = INSTRUCTIONS) -> FunctionCounts:
    """Return the cost of each function with all its callees."""
    return FunctionCounts.from_mapping(inclusive_sums(profile, event), inclusive=True)


def inclusive_sums(profile: CallgrindProfile, event: str, *, without: Collection[Edge] = ()) -> dict[str, int]:
    """Return the cost of each function with all its callees, as if the calls `without` did not exist.

    As in callgrind_annotate, a function with callers gets the sum over the calls of it, so a recursive one (`f'2`,
    which stands for all activations below the first) counts its inner calls again in each outer one. A function without
    callers, and code inlined from another file, gets its own cost and that of the calls made from there.
    """
    index = profile.event_index(event)
    from_inside: defaultdict[str, int] = defaultdict(int)
    from_calls: defaultdict[str, int] = defaultdict(int)
    for cost in profile.self_costs:
        from_inside[function_string(cost.function, cost.file)] += cost.costs[index]
    for call in profile.calls:
        if (call.caller, call.caller_file, call.callee) not in without:
            from_inside[function_string(call.caller, call.caller_file)] += call.costs[index]
            from_calls[function_string(call.callee)] += call.costs[index]
    return {**from_inside, **from_calls}


def figures_of(profile: CallgrindProfile) -> InstructionFigures:
    """Return the three figures of one dump."""
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
    """Return the counts to keep of the repeats of one statement."""
    if not profiles:
        raise MeasurementError("instruction counts need at least one repeat", remedy="Measure with repeats=1 or more.")
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
    """Return the functions that differ, largest change first; only their names, because they are for a sentence."""
    changes = (counts - stable_counts).transform(function_name)
    return tuple(sorted(changes, key=lambda row: -abs(row.count))[:CAUSES_KEPT])
