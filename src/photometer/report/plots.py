"""Plots of results for notebooks: what `.plot()` returns.

In: a result. Out: a Plot, which a notebook shows as SVG that we draw (report/page/plot_files.py), and which can be
saved to a file. No other library is needed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

from photometer.analysis.comparison_result import EnvironmentComparison
from photometer.analysis.ranking import Ranking
from photometer.analysis.table import Table
from photometer.analysis.verdict import Verdict, style_name
from photometer.errors import DefinitionError
from photometer.model.device_measurement import DeviceMeasurement
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.measurement import Measurement
from photometer.model.units import change, format_seconds
from photometer.model.whole_file import write_whole
from photometer.report.page.figure import Axis, Figure, Point, PointFigure, Row, RowFigure, Series

# More rows are searched, not read; a table shows them all.
MOST_ROWS = 60
MOST_FUNCTIONS = 20
# Wide enough to find the file of a function, short enough to leave room for its bar.
WIDEST_NAME = 60


@dataclasses.dataclass(frozen=True, repr=False)
class Plot:
    """A picture of a result. A notebook shows it; `save` writes it as SVG, or as PNG if there is a browser."""

    figure: Figure

    @property
    def svg(self) -> str:
        """Return the drawing as SVG."""
        from photometer.report.page.plot_files import figure_svg

        return figure_svg(self.figure)

    def save(self, path: str | Path) -> Path:
        """Write the picture to a file whose name ends in .svg or .png, and return its path."""
        path = Path(path)
        if path.suffix not in (".svg", ".png"):
            raise DefinitionError(f"{path}: is neither .svg nor .png", remedy="Name a file such as plot.svg.")
        svg = path.with_suffix(".svg")
        write_whole(svg, self.svg.encode("utf-8"))
        if path.suffix == ".png":
            from photometer.instruments.browser import render_png
            from photometer.report.page.plot_files import PIXELS_PER_UNIT

            render_png(svg, path, pixels_per_unit=PIXELS_PER_UNIT)
        return path

    def _repr_html_(self) -> str:
        fitting = self.svg.replace("<svg ", '<svg style="max-width:100%;height:auto" ', 1)
        return f"<div>{fitting}</div>"

    def __repr__(self) -> str:
        return f"<photometer.Plot {self.figure.title!r}: a notebook shows it, .save('plot.svg') keeps it>"


def plot_measurement(m: Measurement) -> Plot:
    """Return the time of each block in the order measured, with a line at the median."""
    points = tuple(
        Point(number, seconds, f"block {number}: {format_seconds(seconds)}")
        for number, seconds in enumerate(m.times, start=1)
    )
    series = (Series("blocks", "base", "circle", points),)
    title = f"{_in_line(m.title)}: median {format_seconds(m.median)}"
    axes = Axis("block, in the order measured", "number"), Axis("per run", "seconds")
    return Plot(PointFigure("blocks", title, *axes, series, y_rules=(m.median,)))


def plot_verdict(verdict: Verdict) -> Plot:
    """Return the change with its interval; lines are at no change and at the margin."""
    row = _verdict_row("second against first", verdict)
    rules = (-verdict.margin, 0.0, verdict.margin)
    return Plot(RowFigure("verdict", f"{verdict.words}: {change(verdict.ratio)}", _CHANGE, (row,), rules))


def plot_comparison(comparison: EnvironmentComparison) -> Plot:
    """Return the change of every benchmark with its interval, the most important first."""
    shown = comparison.titled_by_side().by_importance[:MOST_ROWS]
    rows = tuple(_verdict_row(result.title, result.judged) for result in shown)
    more = len(comparison.results) - len(shown)
    title = f"{', '.join(comparison.names[1:])} against {comparison.base}" + (f" ({more} more)" if more else "")
    return Plot(RowFigure("forest", title, _CHANGE, rows, (0.0,)))


def plot_ranking(ranking: Ranking) -> Plot:
    """Return the time of each statement as a bar, fastest first; its interval is that of the ratio to the first."""
    reference = ranking[ranking.reference].seconds
    rows = []
    for statement in ranking:
        ends = statement.verdict.interval if statement.verdict is not None else (1.0, 1.0)
        low, high = (reference * end if math.isfinite(end) else None for end in ends)
        word = "reference" if statement.verdict is None else statement.verdict.verdict
        shown = word if statement.verdict is None else statement.verdict.words
        note = f"{format_seconds(statement.seconds)} {shown}"
        rows.append(Row(_in_line(statement.name), statement.seconds, low, high, style_name(word), note, start=0.0))
    return Plot(RowFigure("ranking", "Time per run, fastest first", _SECONDS, tuple(rows)))


def plot_tables(tables: Sequence[Table]) -> Plot:
    """Return every cell of a Compare as a mark with its interval: times, or counts if there are no times."""
    times = [table for table in tables if not table.has_counts]
    shown = times or list(tables)
    counts = bool(shown) and not times
    rows = [row for table in shown for row in _table_rows(table)]
    title = f"{'Instructions' if counts else 'Time'} per run" + (
        f" ({len(rows) - MOST_ROWS} more)" if len(rows) > MOST_ROWS else ""
    )
    axis = Axis("instructions per run", "number") if counts else _SECONDS
    return Plot(RowFigure("compare", title, axis, tuple(rows[:MOST_ROWS])))


def plot_device(m: DeviceMeasurement) -> Plot:
    """Return the time of each mode with its interval."""
    rows = []
    for mode in m.modes:
        if mode.measured:
            low, high = (end if math.isfinite(end) else None for end in mode.interval_seconds)
            rows.append(Row(mode.name.value, mode.median, low, high, "base", format_seconds(mode.median), start=0.0))
    title = f"{_in_line(m.task_spec.title)} on {m.device_name}: {m.bound}"
    return Plot(RowFigure("device", title, _SECONDS, tuple(rows)))


def plot_counts(counts: InstructionCounts) -> Plot:
    """Return the functions with the most instructions of their own."""
    rows = tuple(
        Row(_name(function), count / counts.number_per_run, None, None, "base", start=0.0)
        for count, function in counts.top_functions[:MOST_FUNCTIONS]
    )
    rows = tuple(dataclasses.replace(row, low=row.at, high=row.at, note=f"{row.at:,.0f}") for row in rows)
    figure = f"{counts.outside_allocator_per_run:,.1f} instructions per run outside the allocator"
    title = f"{_in_line(counts.task_spec.title)}: {figure}"
    return Plot(RowFigure("functions", title, Axis("instructions per run", "number"), rows))


_CHANGE = Axis("change of the time per run", "change")
_SECONDS = Axis("per run", "seconds")


def _verdict_row(label: str, verdict: Verdict) -> Row:
    low, high = (end - 1.0 if math.isfinite(end) and end > 0 else None for end in verdict.interval)
    note = f"{verdict.words} {change(verdict.ratio)}" if verdict.has_change else verdict.words
    return Row(_in_line(label), verdict.ratio - 1.0, low, high, style_name(verdict.verdict), note)


def _table_rows(table: Table) -> list[Row]:
    rows = []
    for block, group, row in table.rows():
        for head, cell in zip(table.columns, row.cells, strict=True):
            if cell is None:
                continue
            threads = f"{block.num_threads} threads" if block.num_threads != 1 else ""
            label = ", ".join(_in_line(part) for part in (row.name, head, group.env, threads) if part)
            low, high = (end if math.isfinite(end) else None for end in cell.interval or (cell.value, cell.value))
            note = f"{cell.value:,.1f}" if table.has_counts else format_seconds(cell.value, 3)
            rows.append(Row(label, cell.value, low, high, "base", note))
    return rows


def _in_line(text: str) -> str:
    return "; ".join(line.strip() for line in text.split("\n") if line.strip())


def _name(function: str) -> str:
    name = function.partition(":")[2] or function
    name = name.rsplit(" [", 1)[0]
    return name if len(name) <= WIDEST_NAME else name[: WIDEST_NAME - 1] + "…"
