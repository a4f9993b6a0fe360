"""The data file of one benchmark: its code, its curves over commits, and verdicts of live comparisons.

In: a benchmark with all its curves, and the names of the site. Out: plain values for JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from photometer.history.nouns import Benchmark, Curve, StoredComparison
from photometer.history.site.names import SiteNames
from photometer.history.site.packing import differences, finite, packed_curve
from photometer.report.page.record_identity import Identity, identity_of


def identity(benchmark: Benchmark) -> Identity:
    """Return the label and the words of the variant, as the report page has them."""
    auto = dict(benchmark.auto)
    known = ("language", "runtime", "autograd", "device", "num_threads")
    auto["sizes"] = [[name, value] for name, value in auto.items() if name not in known]
    order = {"label": list(benchmark.label) or [benchmark.title], "auto": auto, "tags": list(benchmark.tags)}
    return identity_of({"order": order, "title": benchmark.title})


def code_of(task: Mapping[str, Any]) -> dict[str, str]:
    """Return the code that was measured; whatever is no text is left out."""
    found = {name: task.get(name) for name in ("global_setup", "setup", "stmt")}
    return {name: text for name, text in found.items() if isinstance(text, str) and text.strip() not in ("", "pass")}


def benchmark_data(
    names: SiteNames, benchmark: Benchmark, curves: Iterable[Curve], verdicts: Iterable[StoredComparison] = ()
) -> dict[str, Any]:
    drawn = [data for data in (curve_data(names, curve) for curve in curves) if data is not None]
    return {
        "code": code_of(benchmark.task),
        "curves": sorted(drawn, key=lambda data: (data["series"], data["metric"])),
        "verdicts": [_verdict(names, each) for each in verdicts],
    }


def curve_data(names: SiteNames, curve: Curve) -> dict[str, Any] | None:
    """Return a curve; None if its series came after the names were read."""
    series, metric = names.series_of(curve), names.metric_of(curve)
    places = [names.place_of(curve.project, point.commit.sha) for point in curve.points]
    known = [(place, point) for place, point in zip(places, curve.points, strict=True) if place is not None]
    if series is None or metric is None or not known:
        return None
    points = [point for _, point in known]
    packed = packed_curve(
        [point.value for point in points],
        [min(point.low, point.value) for point in points],
        [max(point.high, point.value) for point in points],
        exact=curve.metric.is_exact,
    )
    return {"series": series, "metric": metric, "commits": differences([place for place, _ in known]), **packed}


def _verdict(names: SiteNames, each: StoredComparison) -> dict[str, Any]:
    # Figures of one machine say nothing about the curves of another.
    series = [number for number, known in enumerate(names.series) if known.machine.id == each.machine_id]
    return {
        "base": each.base.sha if each.base else "",
        "branch": each.branch.sha if each.branch else "",
        "at": each.started_at,
        "verdict": each.words,
        "ratio": finite(each.ratio),
        "low": finite(each.low),
        "high": finite(each.high),
        "cause": each.cause,
        "series": series,
        "figures": {figure.metric: [figure.base, figure.branch] for figure in each.figures},
    }
