"""Overview figures as data: points in a plane, lines, or rows with intervals; and the scales of their axes.

`overview_figures.py` makes figures from views; figures of lines (curves of a sweep with intervals, and the roofline)
are made here. The page's script and `plot_files.py` draw the same description; a Scale does for SVG files what
script/scale.js does on the page. There are no colours and no SVG here.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from photometer.analysis.curves import TIME, CurveSet, with_siblings
from photometer.analysis.rates import Rate
from photometer.model.run_figures import MachinePeak
from photometer.model.units import shown_unit

# Lines differ in colour and shape; the page has this many colours for them.
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
    """Return how far intervals are drawn: a wide one would squeeze the curves, and zero has no logarithm."""
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
    title = "Roofline: how close the benchmarks come to the machine's peak" + (
        "" if device == "cpu" else f", on {device}"
    )
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


# An axis of changes shows at least this much to each side, so that noise does not fill the picture.
SMALLEST_CHANGE_SHOWN = 0.01
# An axis of fewer powers of ten than this has ticks at round steps, not at powers.
FEWEST_POWERS = 1.2

Measures = Literal["seconds", "change", "ratio", "number"]
Shape = Literal["circle", "diamond", "up", "down"]


@dataclasses.dataclass(frozen=True)
class Axis:
    """`measures` decides how ticks are written: a change of 0.05 is "+5 %". `ticks` are values to mark, if given."""

    label: str
    measures: Measures
    scale: Literal["linear", "log"] = "linear"
    ticks: tuple[float, ...] = ()


@dataclasses.dataclass(frozen=True)
class Point:
    x: float
    y: float
    label: str
    id: str = ""


@dataclasses.dataclass(frozen=True)
class Series:
    """Points of one kind. `style` names a colour of the page; `shape` is for readers who cannot tell colours apart."""

    name: str
    style: str
    shape: Shape
    points: tuple[Point, ...]


@dataclasses.dataclass(frozen=True)
class PointFigure:
    """Points on two axes. `name` is also that of the file the figure is written to."""

    name: str
    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    x_rules: tuple[float, ...] = ()
    y_rules: tuple[float, ...] = ()
    kind: Literal["points"] = "points"


@dataclasses.dataclass(frozen=True)
class Row:
    """A mark with its interval, or a bar if `start` is given. An end that is not known is None."""

    label: str
    at: float
    low: float | None
    high: float | None
    style: str
    note: str = ""
    start: float | None = None
    id: str = ""


@dataclasses.dataclass(frozen=True)
class RowFigure:
    """Rows on one axis. `name` is also that of the file the figure is written to."""

    name: str
    title: str
    axis: Axis
    rows: tuple[Row, ...]
    rules: tuple[float, ...] = ()
    domain: tuple[float, float] | None = None
    kind: Literal["rows"] = "rows"


@dataclasses.dataclass(frozen=True)
class LinePoint:
    """A place on the line, with its interval if it has one. `id` is that of the benchmark that a click opens."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    label: str = ""
    id: str = ""


@dataclasses.dataclass(frozen=True)
class LineSeries:
    """Points by rising x; joined by a line, marked, or both."""

    name: str
    style: str
    shape: Shape
    points: tuple[LinePoint, ...]
    joined: bool = True
    marked: bool = True


@dataclasses.dataclass(frozen=True)
class LineFigure:
    """Lines on two axes. `name` is also that of the file; `notes` stand below."""

    name: str
    title: str
    x: Axis
    y: Axis
    series: tuple[LineSeries, ...]
    notes: tuple[str, ...] = ()
    kind: Literal["lines"] = "lines"


Figure = PointFigure | RowFigure | LineFigure


def figure_json(figure: Figure) -> dict[str, Any]:
    return dataclasses.asdict(figure)


@dataclasses.dataclass(frozen=True)
class Scale:
    """Maps values from `low`..`high` (their logarithms on a log axis) to places from `start`..`end`."""

    is_log: bool
    low: float
    high: float
    start: float
    end: float

    @classmethod
    def of(cls, axis: Axis, domain: tuple[float, float], start: float, end: float) -> Scale:
        low, high = domain
        if axis.scale == "log":
            low, high = math.log10(max(low, 1e-15)), math.log10(max(high, 1e-15))
        return cls(axis.scale == "log", low, high if high > low else low + 1.0, start, end)

    def __call__(self, value: float) -> float:
        place = math.log10(max(value, 1e-15)) if self.is_log else value
        return self.start + (place - self.low) / (self.high - self.low) * (self.end - self.start)

    def inside(self, value: float) -> float:
        """Return the place, or the nearest edge if it is outside."""
        first, last = sorted((self.start, self.end))
        return min(max(self(value), first), last)

    def ticks(self, wanted: int) -> list[tuple[float, float | None]]:
        """Return round values inside, each with the step between them; the step is None for powers of ten."""
        if self.is_log and self.high - self.low >= FEWEST_POWERS:
            every = max(1, math.ceil((self.high - self.low) / max(wanted, 1)))
            return [(10.0**p, None) for p in range(math.ceil(self.low), math.floor(self.high) + 1, every)]
        low, high = (10**self.low, 10**self.high) if self.is_log else (self.low, self.high)
        step = nice_step(high - low, max(wanted, 1))
        numbers = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
        return [(number * step, step) for number in numbers]


def apart(ticks: Sequence[float], scale: Scale, room: float) -> list[float]:
    """Return the ticks that have so much room between them, from the first on."""
    kept: list[float] = []
    for tick in sorted(ticks):
        if not kept or abs(scale(tick) - scale(kept[-1])) >= room:
            kept.append(tick)
    return kept


def nice_step(span: float, wanted: int) -> float:
    """Return the round step that comes nearest to this many ticks."""
    rough = math.log10(span / wanted)
    power = math.floor(rough)
    nearest = min((1, 2, 5, 10), key=lambda step: abs(math.log10(step) + power - rough))
    return float(nearest * 10.0**power)


def padded(values: Sequence[float], axis: Axis, room: float = 0.05) -> tuple[float, float]:
    """Return the range of the values, and a little more on each side."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return (0.1, 10.0) if axis.scale == "log" else (0.0, 1.0)
    if axis.measures == "change":
        finite += [-SMALLEST_CHANGE_SHOWN, SMALLEST_CHANGE_SHOWN]
    low, high = min(finite), max(finite)
    if axis.scale == "log":
        ratio = max((high / low) ** room, 1.05) if low > 0 else 1.05
        return low / ratio, high * ratio
    margin = (high - low or abs(low) or 1.0) * room
    # The axis begins where the data begin, and one of times, counts or sizes not below zero.
    return max(low - margin, 0.0) if low >= 0 and axis.measures != "change" else low - margin, high + margin


def tick_text(axis: Axis, value: float, step: float | None) -> str:
    """Return `5 µs`, `+2 %`, `1.5×` or `1,000`, depending on what the axis measures."""
    if axis.measures == "seconds":
        unit, scale = shown_unit(value)
        return "0" if value == 0 else f"{_digits(value / scale, None if step is None else step / scale)} {unit}"
    if axis.measures == "change":
        percent = _digits(abs(value) * 100, None if step is None else step * 100)
        return "0" if abs(value) < 1e-12 else f"{'+' if value > 0 else '-'}{percent} %"
    if axis.measures == "ratio":
        return f"{value:.3g}×"
    if abs(value) >= 1e6:
        return f"10^{math.log10(abs(value)):.3g}"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.3g}"


def _digits(value: float, step: float | None) -> str:
    if step is None:
        return f"{value:.3g}"
    return f"{value:.{min(max(0, -math.floor(math.log10(step) + 1e-9)), 6)}f}"
