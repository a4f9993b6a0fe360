"""LadderView: the rungs of one call, each with what it adds to the rung below. The overrides suite is run for this.

In: a Ladder (analysis/ladder.py) or, if a results file has no ladder, the benchmarks of the run. Out: one ladder per
call.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from photometer.analysis.ladder import Ladder, ladder_of
from photometer.model.order_name import label_text
from photometer.report.page.view_run import BenchmarkView

SUITE = "overrides"


@dataclasses.dataclass(frozen=True)
class RungView:
    """`added_…` are over the rung below; the lowest rung has none. `start_seconds` is the time of the rung below."""

    id: str
    name: str
    seconds: float
    start_seconds: float
    added_seconds: float | None = None
    added_interval: tuple[float, float] | None = None
    added_instructions: float | None = None


@dataclasses.dataclass(frozen=True)
class LadderView:
    call: str
    rungs: tuple[RungView, ...]


def ladder_views(ladder: Ladder) -> tuple[LadderView, ...]:
    """Return the ladders, without rungs that have no time: there is nothing to draw."""
    views = []
    for call, steps in ladder.by_call().items():
        seconds = {step.rung: step.seconds for step in steps}
        rungs = []
        for step in steps:
            if step.seconds is None:
                continue
            start = 0.0
            if step.added_seconds is not None:
                start = step.seconds - step.added_seconds
            elif step.below is not None:
                start = seconds.get(step.below) or 0.0
            ends = step.added_interval_seconds
            rungs.append(
                RungView(
                    "",
                    step.rung,
                    step.seconds,
                    start,
                    step.added_seconds,
                    # An end that is not known is infinite; half an interval cannot be drawn.
                    ends if ends is not None and all(map(math.isfinite, ends)) else None,
                    step.added_instructions,
                )
            )
        if rungs:
            views.append(LadderView(call, tuple(rungs)))
    return tuple(views)


def ladders_of_records(records: Sequence[Mapping[str, Any]]) -> tuple[LadderView, ...]:
    """Return the ladders of a run's records, if it has rungs."""
    ladder = ladder_of(records)
    return () if ladder is None else ladder_views(ladder)


def ladders_of_benchmarks(benchmarks: Sequence[BenchmarkView]) -> tuple[LadderView, ...]:
    """Return the ladders from separate measurements, with wider intervals: each rung over the one before it."""
    calls: dict[str, list[BenchmarkView]] = {}
    for view in benchmarks:
        if view.time is not None and len(view.path) > 1:
            calls.setdefault(label_text(view.path[:-1]), []).append(view)
    return tuple(
        LadderView(call, tuple(_rung(view, members[i - 1] if i else None) for i, view in enumerate(members)))
        for call, members in calls.items()
        if len(members) > 1
    )


def _rung(view: BenchmarkView, below: BenchmarkView | None) -> RungView:
    assert view.time is not None
    if below is None or below.time is None:
        return RungView(view.id, view.path[-1], view.time.seconds, 0.0)
    added = view.time.seconds - below.time.seconds
    # The estimates are independent: the half-width of the difference is the root of the sum of squares.
    half = math.hypot(*((each.interval[1] - each.interval[0]) / 2 for each in (view.time, below.time)))
    instructions = None
    if view.counts is not None and below.counts is not None:
        instructions = view.counts.outside_allocator - below.counts.outside_allocator
    return RungView(
        view.id,
        view.path[-1],
        view.time.seconds,
        below.time.seconds,
        added,
        (added - half, added + half) if math.isfinite(half) else None,
        instructions,
    )
