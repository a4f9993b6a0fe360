"""Custom metrics of both sides of a comparison. In: two started sides and a checked plan. Out: MetricChanges."""

from __future__ import annotations

from photometer.analysis.metric_change import MetricChange, judge_metric
from photometer.comparing.observer import Observer
from photometer.comparing.preflight import CheckedPlan, StartedSides
from photometer.errors import PhotometerError
from photometer.execution.compile_order import kind_of, preparation_of
from photometer.execution.figure_pass import METRIC_RUNS
from photometer.plan.work_order import WorkOrder
from photometer.worker.figure_messages import Observe


def compare_metrics(
    sides: StartedSides, checked: CheckedPlan, titles: dict[str, str], observer: Observer
) -> tuple[MetricChange, ...]:
    """Return the change of every metric, except those that cannot be read on a side."""
    wanted = [order for order in checked.orders if order.figures is not None and order.figures.metrics]
    if wanted:
        observer.stage("reading metrics on both sides")
    changes: list[MetricChange] = []
    for done, order in enumerate(wanted, start=1):
        try:
            base, branch = (_values(sides, checked, order, place) for place in (0, 1))
        except PhotometerError:
            # Preflight has run it on both sides; what fails now is a metric that is not a number, which `run` reports.
            continue
        assert order.figures is not None
        for name, ours, theirs in zip(order.figures.metrics, base, branch, strict=True):
            changes.append(judge_metric(order.id, titles[order.id], name, ours, theirs))
        observer.step(done, len(wanted))
    return tuple(changes)


def _values(sides: StartedSides, checked: CheckedPlan, order: WorkOrder, place: int) -> list[list[float]]:
    assert order.figures is not None
    ready = checked.prepared[place].ready[order.id]
    session = sides[place].session
    prepare = preparation_of(session, ready)
    with session.child(kind_of(order)) as child:
        child.ask(prepare, order.timeout_seconds)
        return child.ask(Observe(order.figures.metrics, METRIC_RUNS), order.timeout_seconds).values
