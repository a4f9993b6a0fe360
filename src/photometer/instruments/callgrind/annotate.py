"""Counts per function as callgrind_annotate prints them, from a profile and without running it.

In comes a CallgrindProfile; out go FunctionCounts whose functions read `file:function [object]`. Two deliberate
differences: the object is named for inlined code too, and functions of two objects that share a name are kept apart
(callgrind_annotate adds them up under the object it saw last).
"""

from __future__ import annotations

import re
from collections import defaultdict

from photometer.instruments.callgrind.profile import INSTRUCTIONS, UNKNOWN, CallgrindProfile, Function
from photometer.model.function_counts import FunctionCounts

_OBJECT = re.compile(r" \[[^\[\]]*/[^\[\]]*\]$")


def function_string(function: Function, file: str | None = None) -> str:
    """`file:function [object]`; `file` is given for code of another file that was inlined into the function."""
    shown = f"{function.file if file is None else file}:{function.name}"
    return shown if function.object_path in ("", UNKNOWN) else f"{shown} [{function.object_path}]"


def function_name(function: str) -> str:
    """The function alone, of a string that function_string made."""
    return _OBJECT.sub("", function.partition(":")[2])


def exclusive_counts(profile: CallgrindProfile, event: str = INSTRUCTIONS) -> FunctionCounts:
    """What each function's own instructions cost. The sum is the profile's total."""
    index = profile.event_index(event)
    counts: defaultdict[str, int] = defaultdict(int)
    for cost in profile.self_costs:
        counts[function_string(cost.function, cost.file)] += cost.costs[index]
    return FunctionCounts.from_mapping(counts, inclusive=False)


def inclusive_counts(profile: CallgrindProfile, event: str = INSTRUCTIONS) -> FunctionCounts:
    """What each function cost with everything it called.

    As in callgrind_annotate: a function that is called has the sum over the calls of it, so a recursive one (`f'2`,
    which stands for all activations below the first) counts its inner calls again in each outer one. A function that
    nothing calls, and code inlined from another file, has its own cost and that of the calls made from there.
    """
    index = profile.event_index(event)
    from_inside: defaultdict[str, int] = defaultdict(int)
    from_calls: defaultdict[str, int] = defaultdict(int)
    for cost in profile.self_costs:
        from_inside[function_string(cost.function, cost.file)] += cost.costs[index]
    for call in profile.calls:
        from_inside[function_string(call.caller, call.caller_file)] += call.costs[index]
        from_calls[function_string(call.callee)] += call.costs[index]
    return FunctionCounts.from_mapping({**from_inside, **from_calls}, inclusive=True)
