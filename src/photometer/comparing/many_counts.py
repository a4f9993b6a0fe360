"""Instructions of many sides: count a few sides at a time, and compare two of them.

In: sessions, and the orders that are ready on each. Out: counts by order and position of the side.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence

from photometer.analysis.cause import InstructionChange, are_identical, instruction_change
from photometer.comparing.contests import Contest
from photometer.comparing.counts import count_sides
from photometer.comparing.kept_counts import KeptCounts, SideCount
from photometer.comparing.observer import Observer
from photometer.comparing.preflight import StartedSide
from photometer.errors import PhotometerError
from photometer.execution.executor import ReadyOrder
from photometer.instruments.callgrind.counter import SHOWS_FRAMES
from photometer.plan.work_order import WorkOrder

Counts = Mapping[tuple[str, int], SideCount]
"""By order and position of the side. What could not be counted is missing."""

Ready = Mapping[str, Mapping[int, ReadyOrder]]
"""By order, then by position of the side."""


def count_many(sides: Sequence[StartedSide], ready: Ready, observer: Observer) -> Counts:
    """Count as many sides at a time as there are cores: a server under Valgrind takes a gigabyte.

    Kept counts of a revision, or of a named environment, are not taken again.
    """
    total = sum(map(len, ready.values()))
    steps = itertools.count(1)
    found: dict[tuple[str, int], SideCount] = {}
    at_once = os.cpu_count() or 1
    for first in range(0, len(sides), at_once):
        places = range(first, min(first + at_once, len(sides)))
        found |= _count_on(places, sides, ready, lambda: observer.step(next(steps), total))
    return found


def _count_on(
    places: Sequence[int], sides: Sequence[StartedSide], ready: Ready, on_count: Callable[[], None]
) -> dict[tuple[str, int], SideCount]:
    wanted = [[order_id for order_id in ready if place in ready[order_id]] for place in places]
    orders = [[ready[order_id][place] for order_id in mine] for place, mine in zip(places, wanted, strict=True)]
    sessions = [sides[place].session for place in places]
    kept = [KeptCounts.of(sides[place].resolved) for place in places]
    outcomes = count_sides(sessions, orders, kept=kept, on_count=lambda *_: on_count())
    for session in sessions:
        session.drop(SHOWS_FRAMES)
    return {
        (order_id, place): outcome
        for place, mine, counted in zip(places, wanted, outcomes, strict=True)
        for order_id, outcome in zip(mine, counted, strict=True)
        if not isinstance(outcome, PhotometerError)
    }


def are_alike(order: WorkOrder, contest: Contest, counts: Counts) -> bool:
    """Return whether both sides execute the same instructions; False with several threads (it is not known)."""
    first, other = (counts.get((order.id, place)) for place in (contest.first, contest.other))
    if first is None or other is None or order.args.num_threads > 1:
        return False
    return are_identical(first.counts, other.counts, first.functions, other.functions)


def ratio_of(order: WorkOrder, contest: Contest, counts: Counts) -> float | None:
    """Return the ratio of the second side's instructions to the first's, outside the allocator."""
    first, other = (counts.get((order.id, place)) for place in (contest.first, contest.other))
    if first is None or other is None:
        return None
    return other.counts.outside_allocator_per_run / max(first.counts.outside_allocator_per_run, 1.0)


def change_of(order: WorkOrder, place: int, counts: Counts) -> InstructionChange | None:
    """Return the instructions of a side against those of the reference."""
    first, other = counts.get((order.id, 0)), counts.get((order.id, place))
    if first is None or other is None:
        return None
    return instruction_change([first.counts], [other.counts], first.functions, other.functions)
