"""Figures of lines: curves of a sweep with intervals, and the roofline, whose roofs are lines and benchmarks points.

In: curves and rates. Out: LineFigures as data, which the page's script and `plot_files.py` draw; see figure.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from photometer.analysis.curves import TIME, CurveSet, with_siblings
from photometer.analysis.rates import Rate
from photometer.model.work_of_run import MachinePeak
from photometer.report.page.figure import Axis, LineFigure, LinePoint, LineSeries, Shape

# Told apart by colour and by shape: the page has this many colours for lines.
STYLES = tuple(f"line-{number}" for number in range(8))
SHAPES: tuple[Shape, ...] = ("circle", "diamond", "up", "down")
# On an axis of fewer doublings, a logarithm only bends what is nearly straight.
LOG_FROM_RATIO = 8.0
# Sizes that are marked on their axis; of more, round numbers are.
MOST_TICKS = 12
# Intervals are drawn to a third of the lowest value, and to three times the highest.
WIDEST_INTERVAL = 3.0
# A page with more plots is not read; the files of `--plots` have as many.
MOST_CURVE_FIGURES = 40
GIGA = 1e9


def curve_figures(sets: Sequence[CurveSet], ids: Mapping[str, str]) -> list[LineFigure]:
    """Return one figure per axis of a benchmark and its siblings. `ids` are the page's ids by those of orders."""
    shared = with_siblings(sets)
    return [_curve_figure(each, number, ids) for number, each in enumerate(shared[:MOST_CURVE_FIGURES], start=1)]


def _curve_figure(curves: CurveSet, number: int, ids: Mapping[str, str]) -> LineFigure:
    points = [point for curve in curves.curves for point in curve.points]
    timed = curves.measures == TIME
    sizes = sorted({point.x for point in points})
    x_axis = Axis(curves.axis, "number", _scale(sizes), tuple(sizes) if len(sizes) <= MOST_TICKS else ())
    y_axis = Axis(
        "time of one run" if timed else curves.measures,
        "seconds" if timed else "number",
        _scale([point.y for point in points]),
    )
    reach = _reach([point.y for point in points], y_axis)
    series = tuple(
        LineSeries(
            curve.name,
            STYLES[place % len(STYLES)],
            SHAPES[place % len(SHAPES)],
            tuple(
                LinePoint(p.x, p.y, *_interval(p.low, p.high, reach), curve.name, ids.get(p.id, ""))
                for p in curve.points
            ),
        )
        for place, curve in enumerate(curves.curves)
    )
    left_out = (f"{curves.left_out} more variants are in the table below.",) if curves.left_out else ()
    # They begin with a name, which keeps its letters.
    notes = tuple(f"{sentence}." for sentence in curves.sentences)
    return LineFigure(f"curve-{number}", curves.title, x_axis, y_axis, series, (*notes, *left_out))


def _reach(values: Sequence[float], axis: Axis) -> tuple[float, float]:
    """Return how far intervals are drawn: one that is wider would squeeze the curves, and zero has no logarithm."""
    low, high = min(values), max(values)
    if axis.scale == "log":
        return low / WIDEST_INTERVAL, high * WIDEST_INTERVAL
    return low - (high - low or abs(low) or 1.0), high + (high - low or abs(high) or 1.0)


def _interval(low: float | None, high: float | None, reach: tuple[float, float]) -> tuple[float | None, float | None]:
    """Return the interval as far as it is drawn; none if it is not known."""
    if low is None or high is None:
        return None, None
    return min(max(low, reach[0]), reach[1]), min(max(high, reach[0]), reach[1])


def _scale(values: Sequence[float]) -> Literal["linear", "log"]:
    low, high = min(values), max(values)
    return "log" if low > 0 and high / low >= LOG_FROM_RATIO else "linear"


def roofline_figures(rates: Sequence[Rate], peaks: Sequence[MachinePeak], ids: Mapping[str, str]) -> list[LineFigure]:
    """Return one roofline per device: a roof per number of threads and type, and a point per benchmark."""
    figures: list[LineFigure] = []
    for device in dict.fromkeys(peak.device for peak in peaks):
        placed = [rate for rate in rates if rate.facts.device == device and rate.intensity and rate.flops_per_second]
        roofs = [peak for peak in peaks if peak.device == device and any(rate.peak == peak for rate in placed)]
        if placed and roofs:
            name = "roofline" if not figures else f"roofline-{len(figures) + 1}"
            figures.append(_roofline(name, device, placed, roofs, ids))
    return figures


def _roofline(
    name: str, device: str, rates: Sequence[Rate], roofs: Sequence[MachinePeak], ids: Mapping[str, str]
) -> LineFigure:
    intensities = [rate.intensity for rate in rates if rate.intensity]
    ridges = [peak.flops_per_second / peak.bytes_per_second for peak in roofs]
    ends = (min((*intensities, *ridges)) / 2, max((*intensities, *ridges)) * 2)
    series = []
    for place, peak in enumerate(roofs):
        words = [peak.dtype, *([f"{peak.num_threads} threads"] if peak.num_threads > 1 else [])]
        style, shape = STYLES[place % len(STYLES)], SHAPES[place % len(SHAPES)]
        series.append(LineSeries(f"peak, {', '.join(words)}", style, shape, _roof(peak, ends), marked=False))
        under = tuple(
            LinePoint(
                rate.intensity or 0.0,
                (rate.flops_per_second or 0.0) / GIGA,
                label=rate.facts.title,
                id=ids.get(rate.facts.id, ""),
            )
            for rate in rates
            if rate.peak == peak
        )
        series.append(LineSeries(", ".join(words), style, shape, under, joined=False))
    title = "Roofline: what the benchmarks reach of the machine's peak" + ("" if device == "cpu" else f", on {device}")
    notes = (
        "Below the slope a benchmark waits for memory, below the flat part for arithmetic; above the roof, its data "
        "come from a cache.",
    )
    x_axis, y_axis = Axis("FLOPs per byte", "number", "log"), Axis("GFLOP/s", "number", "log")
    return LineFigure(name, title, x_axis, y_axis, tuple(series), notes)


def _roof(peak: MachinePeak, ends: tuple[float, float]) -> tuple[LinePoint, ...]:
    ridge = peak.flops_per_second / peak.bytes_per_second
    return tuple(
        LinePoint(x, min(x * peak.bytes_per_second, peak.flops_per_second) / GIGA) for x in (ends[0], ridge, ends[1])
    )
