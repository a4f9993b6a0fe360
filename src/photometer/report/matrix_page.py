"""The page of a comparison of many sides: one HTML document that opens offline, versions across, benchmarks down.

In: an EnvironmentComparison. Out: the text of the document. It shares style, theme and safety rules with the report's
page.
"""

from __future__ import annotations

import dataclasses
import math

from photometer.analysis.cause import own_sentences
from photometer.analysis.comparison_result import NOT_REACHED, ComparisonRow, EnvironmentComparison
from photometer.analysis.verdict import style_name
from photometer.model.units import change, format_seconds, span
from photometer.report.matrix_text import (
    cell_text,
    failures_of,
    foot_text,
    headline,
    reference_text,
    short_names,
    side_counts,
    steps_text,
)
from photometer.report.page.page import REPORT_FOLDER, content_policy, document_templates, script_of_theme

# The trend of a row, in pixels: room for a point and its interval.
TREND_WIDTH = 120
TREND_HEIGHT = 28
_EDGE = 5
# A row whose sides differ by less is drawn as flat: the scale must not blow up noise.
SMALLEST_RANGE = 0.02


@dataclasses.dataclass(frozen=True)
class TrendPoint:
    """One side in the trend of a row: its place, the ends of its interval, and its verdict."""

    x: float
    y: float
    low_y: float
    high_y: float
    word: str


@dataclasses.dataclass(frozen=True)
class CellView:
    """One side of one benchmark, in words."""

    side: str
    text: str
    word: str
    seconds: str = ""
    interval: str = ""
    step: str = ""
    cause: str = ""


@dataclasses.dataclass(frozen=True)
class RowView:
    id: str
    title: str
    reference: str
    cells: tuple[CellView, ...]
    steps: str
    trend: tuple[TrendPoint, ...]
    notes: tuple[str, ...]

    @property
    def line(self) -> str:
        """Return the points of the trend's line."""
        return " ".join(f"{point.x:.1f},{point.y:.1f}" for point in self.trend)


def render_matrix_page(matrix: EnvironmentComparison, machine: str = "") -> str:
    """Return the whole document."""
    script = script_of_theme()
    style = "".join((REPORT_FOLDER / name).read_text(encoding="utf-8") for name in ("page.css", "matrix.css"))
    names = short_names(matrix.names)
    return (
        document_templates()
        .get_template("matrix.html.jinja")
        .render(
            title=f"{matrix.suite or 'A suite'} on {len(matrix.names)} sides",
            headline=headline(matrix),
            machine=machine,
            names=names,
            sides=[(name, side_counts(matrix, side)) for side, name in enumerate(matrix.names) if side],
            reference=matrix.names[0],
            warnings=(*matrix.warnings, *(f"{NOT_REACHED}: {title}" for title in matrix.not_reached)),
            rows=[_row(number, row, matrix, names) for number, row in enumerate(matrix.rows)],
            foot=foot_text(matrix),
            trend_width=TREND_WIDTH,
            trend_height=TREND_HEIGHT,
            script=script,
            style=style,
            policy=content_policy(script, style),
        )
    )


def _row(number: int, row: ComparisonRow, matrix: EnvironmentComparison, names: list[str]) -> RowView:
    notes = [f"failed on {matrix.names[place]}: {message}" for place, message in failures_of(row)]
    for skip in dict.fromkeys(row.skips.values()):
        notes.append(f"skipped{f' on {skip.side}' if skip.side else ''}: {skip.message}")
    return RowView(
        id=f"benchmark-{number}",
        title=row.title,
        reference=reference_text(row),
        cells=tuple(_cell(row, side, names) for side in range(1, len(names))),
        steps=steps_text(row, names),
        trend=trend_of(row, len(names)),
        notes=(*notes, *row.warnings),
    )


def _cell(row: ComparisonRow, side: int, names: list[str]) -> CellView:
    cell = row.cells.get(side)
    text = cell_text(row, side)
    if cell is None:
        return CellView(names[side], text, "failed" if text == "failed" else "missing")
    judged, step = cell.judged, cell.latest
    memory = "" if cell.memory is None else cell.memory.sentence
    return CellView(
        names[side],
        text,
        style_name(judged.verdict),
        format_seconds(judged.base_seconds + judged.difference_seconds, 3),
        span(judged.interval),
        f"{step.words}, {change(step.ratio)} against {names[cell.before]}",
        "; ".join(part for part in (cell.cause.rstrip("."), memory, *own_sentences(cell.figures)) if part),
    )


def trend_of(row: ComparisonRow, sides: int) -> tuple[TrendPoint, ...]:
    """Return the sides from left to right, the reference first, slower ones higher; no scale is shown, only a shape."""
    judged = [(side, cell.judged) for side, cell in sorted(row.cells.items())]
    if not judged:
        return ()
    reach = max([SMALLEST_RANGE, *(abs(math.log(verdict.ratio)) for _, verdict in judged)])
    middle = TREND_HEIGHT / 2

    def height(ratio: float) -> float:
        relative = math.log(ratio) / reach if 0.0 < ratio < math.inf else math.copysign(1.0, ratio - 1.0)
        return middle - max(-1.2, min(1.2, relative)) * (middle - _EDGE)

    step = (TREND_WIDTH - 2 * _EDGE) / max(sides - 1, 1)
    points = [TrendPoint(_EDGE, middle, middle, middle, "same")]
    for side, verdict in judged:
        low, high = verdict.interval
        points.append(
            TrendPoint(
                _EDGE + step * side, height(verdict.ratio), height(low), height(high), style_name(verdict.verdict)
            )
        )
    return tuple(points)
