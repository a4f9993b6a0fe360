"""The figures of a report as files: SVG that we draw, and a PNG beside each if there is a browser to make it.

In: a ReportView. Out: files. Each SVG has a fixed size, a white background, no script and no outside resources; on the
page, script/figure.js draws the same figures.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path

from photometer.errors import ToolMissing
from photometer.instruments.browser import find_browser, render_png
from photometer.model.whole_file import not_written, write_whole
from photometer.report.escape import html_text
from photometer.report.page.figure import (
    Axis,
    Figure,
    LineFigure,
    PointFigure,
    Row,
    RowFigure,
    Scale,
    apart,
    padded,
    tick_text,
)
from photometer.report.page.overview_figures import all_figures
from photometer.report.page.view_report import ReportView

NO_FIGURES = "These results have no figures: only comparisons, fuzz runs, ladders and runs of a suite have them."
# Sharp on today's screens and in print.
PIXELS_PER_UNIT = 2
WIDTH = 860
POINTS_HEIGHT = 460
ROW_HEIGHT = 24
# Between the middles of two marked values.
TICK_ROOM = 44
# The width of an average letter of the labels' font; labels are cut to fit.
_LETTER = 6.6
_COLOURS = {
    "base": "#3d6d96",
    "branch": "#b8622b",
    "slower": "#b5402c",
    "faster": "#2a6f97",
    "probably-slower": "#c9766a",
    "probably-faster": "#6f9fbd",
    "undecided": "#8f6a12",
    "same": "#8b9094",
    "identical": "#8b9094",
    "line-0": "#3d6d96",
    "line-1": "#b8622b",
    "line-2": "#3f7a4f",
    "line-3": "#7b5aa0",
    "line-4": "#8a6d12",
    "line-5": "#b04a73",
    "line-6": "#23797d",
    "line-7": "#6a6f73",
}
_INK, _SOFT, _GRID = "#1d1f21", "#5f6468", "#e4e5e3"
_FONT = "font-family=\"system-ui, -apple-system, 'Segoe UI', Arial, sans-serif\""


@dataclasses.dataclass(frozen=True)
class PlotFiles:
    """The files that were written, and a remark if some were not."""

    paths: tuple[Path, ...]
    remark: str = ""


def write_plots(view: ReportView, folder: Path) -> PlotFiles:
    """Write one SVG and one PNG per figure. Without a browser there are no PNGs; the remark says how to get them."""
    figures = all_figures(view)
    if not figures:
        return PlotFiles((), NO_FIGURES)
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in figures.items():
            path = folder / f"{name}.svg"
            write_whole(path, figure_svg(figure).encode("utf-8"))
            written.append(path)
    except OSError as error:
        raise not_written(folder, error, remedy="Name another folder.") from error
    try:
        browser = find_browser()
    except ToolMissing as error:
        return PlotFiles(tuple(written), f"No PNG files: {error.message}. {error.remedy}")
    for path in tuple(written):
        render_png(path, path.with_suffix(".png"), pixels_per_unit=PIXELS_PER_UNIT, browser=browser)
        written.append(path.with_suffix(".png"))
    return PlotFiles(tuple(sorted(written)))


def figure_svg(figure: Figure) -> str:
    """Return the whole file."""
    if isinstance(figure, RowFigure):
        height, parts = _rows(figure)
    elif isinstance(figure, LineFigure):
        height, parts = POINTS_HEIGHT, _lines(figure)
    else:
        height, parts = POINTS_HEIGHT, _points(figure)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{html_text(figure.title)}" {_FONT}>'
    )
    title = _text(16, 26, figure.title, size=14, colour=_INK, weight=600)
    background = f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, background, title, *parts, "</svg>"]) + "\n"


@dataclasses.dataclass(frozen=True)
class _Area:
    left: float
    right: float
    top: float
    bottom: float


def _points(figure: PointFigure) -> list[str]:
    area = _Area(70, WIDTH - 24, 78, POINTS_HEIGHT - 52)
    points = [point for series in figure.series for point in series.points]
    x = Scale.of(figure.x, padded([p.x for p in points] + list(figure.x_rules), figure.x), area.left, area.right)
    y = Scale.of(figure.y, padded([p.y for p in points] + list(figure.y_rules), figure.y), area.bottom, area.top)
    parts = [*_axis_bottom(figure.x, x, area), *_axis_left(figure.y, y, area)]
    parts += [_line(x(at), area.top, x(at), area.bottom, _SOFT, dashed=True) for at in figure.x_rules]
    parts += [_line(area.left, y(at), area.right, y(at), _SOFT, dashed=True) for at in figure.y_rules]
    place = 16.0
    for series in figure.series:
        colour = _COLOURS.get(series.style, _SOFT)
        for point in series.points:
            parts.append(_mark(series.shape, x(point.x), y(point.y), colour, point.label))
        if series.points:
            words = f"{series.name} ({len(series.points):,})"
            parts += [_mark(series.shape, place + 5, 46, colour), _text(place + 15, 50, words)]
            place += 32 + len(words) * _LETTER
    return parts


def _lines(figure: LineFigure) -> list[str]:
    area = _Area(70, WIDTH - 24, 78, POINTS_HEIGHT - 52)
    points = [point for series in figure.series for point in series.points]
    heights = [value for point in points for value in (point.y, point.low, point.high) if value is not None]
    x = Scale.of(figure.x, padded([point.x for point in points], figure.x), area.left, area.right)
    y = Scale.of(figure.y, padded(heights, figure.y), area.bottom, area.top)
    parts = [*_axis_bottom(figure.x, x, area), *_axis_left(figure.y, y, area)]
    place = 16.0
    for series in figure.series:
        colour = _COLOURS.get(series.style, _SOFT)
        if series.joined:
            path = " ".join(f"{x(point.x):.1f},{y.inside(point.y):.1f}" for point in series.points)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        for point in series.points if series.marked else ():
            if point.low is not None and point.high is not None:
                parts.append(_line(x(point.x), y.inside(point.low), x(point.x), y.inside(point.high), colour))
            parts.append(_mark(series.shape, x(point.x), y.inside(point.y), colour, point.label))
        mark = _mark(series.shape, place + 5, 46, colour) if series.marked else _line(place, 46, place + 11, 46, colour)
        parts += [mark, _text(place + 15, 50, series.name)]
        place += 32 + len(series.name) * _LETTER
    return parts


def _rows(figure: RowFigure) -> tuple[int, list[str]]:
    top = 42
    height = top + len(figure.rows) * ROW_HEIGHT + 52
    longest = max((len(row.label) for row in figure.rows), default=0)
    label_width = min(longest * _LETTER + 24, WIDTH * 0.42)
    note_width = max((len(row.note) for row in figure.rows), default=0) * _LETTER
    area = _Area(label_width + 8, WIDTH - 24 - note_width, top, height - 46)
    values = [value for row in figure.rows for value in (row.at, row.low, row.high, row.start) if value is not None]
    domain = figure.domain or padded([*values, *figure.rules], figure.axis)
    x = Scale.of(figure.axis, domain, area.left, area.right)
    parts = _axis_bottom(figure.axis, x, area)
    parts += [_line(x(at), area.top, x(at), area.bottom, _SOFT, dashed=True) for at in figure.rules]
    for number, row in enumerate(figure.rows):
        parts += _row(row, x, area, area.top + (number + 0.5) * ROW_HEIGHT)
    return height, parts


def _row(row: Row, x: Scale, area: _Area, middle: float) -> Iterable[str]:
    colour = _COLOURS.get(row.style, _SOFT)
    letters = int((area.left - 24) / _LETTER)
    label = row.label if len(row.label) <= letters else row.label[: letters - 1] + "…"
    yield _text(area.left - 10, middle + 4, label, size=12, colour=_INK, anchor="end")
    if row.start is not None:
        start, end = sorted((x.inside(row.start), x.inside(row.at)))
        place = f'x="{start:.1f}" y="{middle - 5:.1f}" width="{max(end - start, 1.0):.1f}" height="10"'
        yield f'<rect {place} fill="{colour}" opacity=".8"/>'
    low = area.left if row.low is None else x.inside(row.low)
    high = area.right if row.high is None else x.inside(row.high)
    yield _line(low, middle, high, middle, colour, width=1.6)
    if row.start is None:
        yield _mark("circle", x.inside(row.at), middle, colour, row.label)
    if row.note:
        yield _text(area.right + 12, middle + 4, row.note)


def _axis_bottom(axis: Axis, scale: Scale, area: _Area) -> list[str]:
    parts = []
    chosen: list[tuple[float, float | None]] = [(tick, None) for tick in apart(axis.ticks, scale, TICK_ROOM)]
    for tick, step in chosen or scale.ticks(int((area.right - area.left) / 100)):
        at = scale(tick)
        parts.append(_line(at, area.top, at, area.bottom, _GRID))
        parts.append(_text(at, area.bottom + 16, tick_text(axis, tick, step), anchor="middle"))
    return [*parts, _text((area.left + area.right) / 2, area.bottom + 36, axis.label, anchor="middle")]


def _axis_left(axis: Axis, scale: Scale, area: _Area) -> list[str]:
    parts = []
    for tick, step in scale.ticks(int((area.bottom - area.top) / 50)):
        at = scale(tick)
        parts.append(_line(area.left, at, area.right, at, _GRID))
        parts.append(_text(area.left - 8, at + 4, tick_text(axis, tick, step), anchor="end"))
    return [*parts, _text(16, area.top - 8, axis.label)]


def _mark(shape: str, x: float, y: float, colour: str, title: str = "") -> str:
    tip = f"<title>{html_text(title)}</title>" if title else ""
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.8" fill="{colour}" fill-opacity=".85">{tip}</circle>'
    corners: Sequence[tuple[float, float]] = {
        "diamond": ((0, -5), (5, 0), (0, 5), (-5, 0)),
        "up": ((0, -5), (4.6, 3.4), (-4.6, 3.4)),
        "down": ((0, 5), (4.6, -3.4), (-4.6, -3.4)),
    }[shape]
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}" fill="{colour}" fill-opacity=".85">{tip}</polygon>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, *, width: float = 1.0, dashed: bool = False) -> str:
    dashes = ' stroke-dasharray="2 3"' if dashed else ""
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"{dashes}/>'


def _text(
    x: float, y: float, text: str, *, size: int = 11, colour: str = _SOFT, anchor: str = "start", weight: int = 400
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" fill="{colour}" '
        f'text-anchor="{anchor}">{html_text(text)}</text>'
    )
