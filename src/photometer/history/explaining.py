"""The functions behind a change of instructions: those of the counts on both sides of it, from a store.

In: a store and a Change. Out: FunctionChanges, per run of the statement, the largest first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from photometer.analysis.cause import FunctionChange, function_changes
from photometer.history.changes import Change
from photometer.history.points import INSTRUCTIONS
from photometer.history.reading import functions_of
from photometer.history.store import Store
from photometer.instruments.callgrind.figures import TOP_FUNCTIONS
from photometer.model.function_counts import FunctionCounts


def changed_functions(store: Store, change: Change) -> tuple[FunctionChange, ...]:
    """Return the functions whose own instructions changed; none of a metric that is not counted by function."""
    if change.metric.name != INSTRUCTIONS.name:
        return ()
    return between_counts(store.record(change.last.point.result_id), store.record(change.first.point.result_id))


def between_counts(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[FunctionChange, ...]:
    """Return what changed from one record of counts to another.

    A record has its largest functions. One that only one side has is believed if it is larger than the smallest that
    the other side lists: otherwise it may be there, just not listed.
    """
    base, branch = functions_of(before), functions_of(after)
    runs = int(before.get("number_per_run") or 1)
    return function_changes(_believed(base, branch), _believed(branch, base), runs)


def _believed(side: FunctionCounts, other: FunctionCounts) -> FunctionCounts:
    floor = min(row.count for row in other) if len(other) >= TOP_FUNCTIONS else 0
    listed = {row.function for row in other}
    return FunctionCounts.from_mapping(
        {row.function: row.count for row in side if row.function in listed or row.count > floor}, inclusive=False
    )
