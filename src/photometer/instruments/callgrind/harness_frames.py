"""Inclusive counts without the frames of the loop around the statement.

In: the profile of a statement, and that of as many empty runs. Out: FunctionCounts without the frames above the
statement (`_PyObject_MakeTpCall`, `gen_send`) or beside it (`ffi_call`, which switches Callgrind on and off): calls
that the empty loop makes as often, and functions that execute no more than in the empty loop.
"""

from __future__ import annotations

from collections import defaultdict

from photometer.instruments.callgrind.figures import function_string
from photometer.instruments.callgrind.profile import INSTRUCTIONS, CallgrindProfile, Function
from photometer.model.function_counts import FunctionCounts

# The statement's own bytecode runs in it, so it is never left out.
INTERPRETER_LOOP = "_PyEval_EvalFrameDefault"

_Edge = tuple[Function, str, Function]


def inclusive_counts_of_statement(
    profile: CallgrindProfile, loop_profile: CallgrindProfile, event: str = INSTRUCTIONS
) -> FunctionCounts:
    """Return what each function cost with everything it called, as `inclusive_counts` does, for the statement."""
    loop_calls = _call_counts(loop_profile)
    harness = {edge for edge, count in _call_counts(profile).items() if count <= loop_calls.get(edge, 0)}
    own = _inclusive(profile, harness, event)
    of_loop = _inclusive(loop_profile, harness, event)
    kept = {
        function: count
        for function, count in own.items()
        if count > of_loop.get(function, 0) or INTERPRETER_LOOP in function
    }
    return FunctionCounts.from_mapping(kept, inclusive=True)


def _call_counts(profile: CallgrindProfile) -> dict[_Edge, int]:
    counts: defaultdict[_Edge, int] = defaultdict(int)
    for call in profile.calls:
        counts[call.caller, call.caller_file, call.callee] += call.count
    return counts


def _inclusive(profile: CallgrindProfile, harness: set[_Edge], event: str) -> dict[str, int]:
    """Return the inclusive counts as if the calls of the harness did not exist."""
    index = profile.event_index(event)
    from_inside: defaultdict[str, int] = defaultdict(int)
    from_calls: defaultdict[str, int] = defaultdict(int)
    for cost in profile.self_costs:
        from_inside[function_string(cost.function, cost.file)] += cost.costs[index]
    for call in profile.calls:
        if (call.caller, call.caller_file, call.callee) not in harness:
            from_inside[function_string(call.caller, call.caller_file)] += call.costs[index]
            from_calls[function_string(call.callee)] += call.costs[index]
    return {**from_inside, **from_calls}
