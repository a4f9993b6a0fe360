"""The data file of one benchmark: its code, its curves over commits, and verdicts of live comparisons.

In: a benchmark with all its curves, and the names of the site. Out: plain values for JSON. Numbers are written in few
characters: as integers times a common power of ten, each as its difference from the one before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from photometer.history.nouns import Benchmark, Curve, StoredComparison
from photometer.history.site.names import SiteNames
from photometer.report.page.record_identity import Identity, identity_of

# Of the largest value. More than a time is known to, less than a count is exact to; counts are whole in hundredths.
TIME_DIGITS = 6
EXACT_DIGITS = 12
INTERVAL_DIGITS = 4


def finite(value: float | None) -> float | None:
    """Return the number, or None for a value that JSON cannot express."""
    return value if value is not None and math.isfinite(value) else None


def packed(values: Sequence[float], digits: int) -> dict[str, Any]:
    """Return the values rounded to this many digits of the largest one."""
    largest = max((abs(value) for value in values), default=0.0)
    exponent = math.floor(math.log10(largest)) - digits + 1 if largest else 0
    # Whole numbers stay whole.
    if exponent < 0 and all(value == int(value) for value in values):
        exponent = 0
    scale = 10.0 ** abs(exponent)
    whole = [round(value * scale) if exponent < 0 else round(value / scale) for value in values]
    return {"exponent": exponent, "steps": differences(whole)}


def differences(whole: Sequence[int]) -> list[int]:
    """Return the first number, then the difference of each from the one before."""
    return [number - before for number, before in zip(whole, [0, *whole], strict=False)]


def packed_curve(
    values: Sequence[float], lows: Sequence[float], highs: Sequence[float], *, exact: bool
) -> dict[str, Any]:
    """Return values with their intervals; how far an interval reaches down and up needs fewer digits."""
    digits = EXACT_DIGITS if exact else TIME_DIGITS
    below = [value - low for value, low in zip(values, lows, strict=True)]
    above = [high - value for value, high in zip(values, highs, strict=True)]
    curve = {"values": packed(values, digits)}
    if any(below) or any(above):
        curve |= {"below": packed(below, INTERVAL_DIGITS), "above": packed(above, INTERVAL_DIGITS)}
    return curve


def identity(benchmark: Benchmark) -> Identity:
    """Return the label and the words of the variant, as the report page has them."""
    auto = dict(benchmark.auto)
    known = ("language", "runtime", "autograd", "device", "num_threads")
    auto["sizes"] = [[name, value] for name, value in auto.items() if name not in known]
    order = {"label": list(benchmark.label) or [benchmark.title], "auto": auto, "tags": list(benchmark.tags)}
    return identity_of({"order": order, "title": benchmark.title})


def code_of(task: Mapping[str, Any]) -> dict[str, str]:
    """Return the measured code; values that are not text are left out."""
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
