"""Exact figures of all sides of a comparison: what instruments declare as exact is measured once per side.

In: started sides, a checked plan and the requested instruments. Out: their changes. One of them may explain why a time
changed although the instructions did not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from photometer.analysis.changed_code import ChangedCode, changed_code
from photometer.analysis.figure_change import FigureChange, changed_by_themselves, figure_changes, likely_cause
from photometer.analysis.verdict import VerdictWord
from photometer.comparing.source import CheckedPlan, Contest, Observer, StartedSide
from photometer.errors import PhotometerError
from photometer.instruments.declaration import Asked, Instrument
from photometer.instruments.registry import compared_exactly
from photometer.plan.work_order import WorkOrder

Key = tuple[str, int]
"""The id of an order, and the position of the side that is compared with the reference."""


@dataclasses.dataclass(frozen=True)
class ExactSuite:
    """The changes of every order and side; `warnings` say what could not be measured."""

    changes: Mapping[Key, tuple[FigureChange, ...]] = dataclasses.field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def of(self, order_id: str, place: int) -> tuple[FigureChange, ...]:
        return self.changes.get((order_id, place), ())

    def differs(self, order_id: str, contest: Contest) -> bool:
        """Return whether a figure of either side of a contest differs from that of the reference."""
        places = (contest.first, contest.other)
        return any(change.has_changed for place in places for change in self.of(order_id, place))


def compare_exactly(
    sides: Sequence[StartedSide], checked: CheckedPlan, options: Mapping[str, bool], observer: Observer
) -> ExactSuite:
    """Measure the requested figures on every side where an order runs."""
    found: dict[Key, tuple[FigureChange, ...]] = {}
    warnings = []
    for instrument in compared_exactly():
        orders = [order for order in checked.orders if instrument.applies(order, options)]
        if not instrument.is_asked(options) or not orders:
            continue
        observer.stage(instrument.doing)
        missing = 0
        for done, order in enumerate(orders, start=1):
            try:
                records = _records(instrument, sides, checked, order)
            except PhotometerError:
                missing += 1
                continue
            for place in (place for place in records if place):
                key = (order.id, place)
                found[key] = (*found.get(key, ()), *figure_changes(instrument, records[0], records[place]))
            observer.step(done, len(orders))
        if missing:
            lacking = "1 benchmark" if missing == 1 else f"{missing} benchmarks"
            warnings.append(f"{instrument.doing} failed for {lacking}")
    return ExactSuite(found, tuple(warnings))


def _records(
    instrument: Instrument, sides: Sequence[StartedSide], checked: CheckedPlan, order: WorkOrder
) -> dict[int, Any]:
    seconds = checked.seconds_per_run.get(order.id)
    return {
        place: instrument.measure(sides[place].session, Asked(ready, repeats=1, seconds_per_run=seconds))
        for place, ready in sorted(checked.ready[order.id].items())
    }


def located(
    suite: ExactSuite,
    verdicts: Mapping[Key, VerdictWord],
    sides: Sequence[StartedSide],
    checked: CheckedPlan,
    observer: Observer,
) -> ExactSuite:
    """Return the changes with the functions in which they are: those that have a verdict, or may explain one."""
    causes = [(key, likely_cause(suite.of(*key), word)) for key, word in verdicts.items()]
    causes += [(key, each) for key, every in suite.changes.items() for each in changed_by_themselves(every)]
    wanted = [(key, cause) for key, cause in causes if cause is not None]
    changes = dict(suite.changes)
    for done, (key, cause) in enumerate(wanted):
        observer.stage(f"looking for the {cause.words}")
        observer.step(done, len(wanted))
        found = dataclasses.replace(cause, code=_code(cause, key, sides, checked))
        changes[key] = tuple(found if each is cause else each for each in changes[key])
    return dataclasses.replace(suite, changes=changes)


def _code(
    change: FigureChange, key: Key, sides: Sequence[StartedSide], checked: CheckedPlan
) -> tuple[ChangedCode, ...]:
    order_id, place = key
    instrument, figure = next(
        (each, figure) for each in compared_exactly() for figure in each.figures if figure.name == change.name
    )
    if instrument.stacks is None:
        return ()
    seconds = checked.seconds_per_run.get(order_id)
    try:
        base, branch = (
            instrument.stacks(
                sides[each].session, Asked(checked.ready[order_id][each], repeats=1, seconds_per_run=seconds), figure
            )
            for each in (0, place)
        )
    except PhotometerError:
        # The change is known; only its source is not.
        return ()
    return changed_code(base, branch)
