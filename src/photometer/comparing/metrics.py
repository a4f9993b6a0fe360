"""Custom metrics of all sides of a comparison. In: started sides and a checked plan. Out: MetricChanges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from photometer.analysis.metric_change import MetricChange, judge_metric
from photometer.comparing.observer import Observer
from photometer.comparing.source import CheckedPlan, StartedSide
from photometer.errors import PhotometerError
from photometer.instruments.declaration import Asked
from photometer.instruments.observed import observe_metrics
from photometer.instruments.ready_order import ReadyOrder


def compare_metrics(
    sides: Sequence[StartedSide], checked: CheckedPlan, titles: Mapping[str, str], observer: Observer
) -> tuple[MetricChange, ...]:
    """Return the change of every metric against the reference, except those that cannot be read on a side."""
    wanted = [order for order in checked.orders if order.figures is not None and order.figures.metrics]
    if wanted:
        observer.stage("reading metrics")
    changes: list[MetricChange] = []
    for done, order in enumerate(wanted, start=1):
        try:
            values = {place: _values(sides[place], ready) for place, ready in sorted(checked.ready[order.id].items())}
        except PhotometerError:
            # It has run on all sides; what fails now is a metric that is not a number, which `run` reports.
            continue
        assert order.figures is not None
        for place in (place for place in values if place):
            for name, ours, theirs in zip(order.figures.metrics, values[0], values[place], strict=True):
                changes.append(judge_metric(order.id, titles[order.id], name, ours, theirs, place))
        observer.step(done, len(wanted))
    return tuple(changes)


def _values(side: StartedSide, ready: ReadyOrder) -> list[tuple[float, ...]]:
    return [metric.values for metric in observe_metrics(side.session, Asked(ready)).metrics]
