"""Verdicts in a notebook: one with a picture of its interval, those of two environments, a ranking of statements."""

from __future__ import annotations

import math

from photometer.analysis.comparison_result import ComparisonResult, EnvironmentComparison
from photometer.analysis.ranking import RankedStatement, Ranking
from photometer.analysis.verdict import Verdict
from photometer.model.units import change, format_difference, format_seconds, percent, span
from photometer.report.escape import html_text
from photometer.report.notebook.look import badge
from photometer.report.ranking_text import REFERENCE, headline
from photometer.report.tables.as_html import SOFT, render_html
from photometer.report.tables.table import Cell, Column, Kind, Mark, Row, Value, row_of, table_of
from photometer.report.verdict_text import count_parts, mark_of

# A notebook cell is no place for hundreds of rows; benchmarks without a change are left out first.
MOST_ROWS = 40
WIDTH, HEIGHT = 320, 26
# The picture reaches to the farther end of the interval, or this many margins if that is more.
FEWEST_MARGINS = 2.0
# An interval that is not known yet, or is wider than this, is drawn to the edges.
WIDEST_SHOWN = 1.0
COMPARISON_COLUMNS = (
    Column("verdict", "", Kind.WORDS),
    Column("benchmark", "benchmark", Kind.NAME),
    Column("ratio", "change", Kind.CHANGE),
    Column("interval", "interval", Kind.CHANGE),
    Column("difference_seconds", "per run", Kind.DIFFERENCE),
    Column("instruction_ratio", "instructions", Kind.CHANGE),
)
RANKING_COLUMNS = (
    Column("rank", "rank", Kind.COUNT),
    Column("statement", "statement", Kind.NAME, is_code=True),
    Column("verdict", "verdict", Kind.WORDS),
    Column("drawn", "", Kind.BAR),
    Column("seconds", "per run", Kind.TIME, digits=4),
    Column("ratio", "change", Kind.CHANGE),
    Column("interval", "interval", Kind.CHANGE),
    Column("difference_seconds", "difference", Kind.DIFFERENCE),
)
_INTERVAL_COLOURS = {
    "slower": "#d1493d",
    "probably slower": "#d1493d",
    "undecided": "#c08a1e",
    "probably faster": "#388bd5",
    "faster": "#388bd5",
}


def verdict_html(verdict: Verdict) -> str:
    """Return the verdict, the change with its interval as text and picture, and the reason."""
    changed, time, drawn = "", "", ""
    if verdict.has_change and math.isfinite(verdict.ratio):
        changed = f" {change(verdict.ratio)} ({html_text(span(verdict.interval))})"
        time = f", {format_difference(verdict.difference_seconds)} of {format_seconds(verdict.base_seconds)}"
        drawn = interval_svg(verdict)
    below = (verdict.reason, verdict.measured_by, *verdict.notes)
    lines = "<br>".join(html_text(line) for line in below if line)
    return (
        f'<div style="margin:.4em 0">{badge(verdict.verdict, verdict.words)}<b>{changed}</b>{time}'
        f'{drawn}<div style="{SOFT}">{lines}</div></div>'
    )


def result_html(result: ComparisonResult) -> str:
    """Return one benchmark of a comparison: its title above its verdict, and the cause."""
    cause = f'<div style="{SOFT}">{html_text(result.cause)}</div>' if result.cause else ""
    return f"<div><b>{html_text(result.title)}</b>{verdict_html(result.judged)}{cause}</div>"


def interval_svg(verdict: Verdict) -> str:
    """Return the interval of the change over a band that is the margin, with a line at "no change"."""
    ends = [end - 1.0 for end in verdict.interval]
    known = [abs(end) for end in ends if math.isfinite(end) and abs(end) < WIDEST_SHOWN]
    reach = 1.15 * max([FEWEST_MARGINS * verdict.margin, abs(verdict.ratio - 1.0), *known, 1e-4])

    def place(change: float) -> float:
        return min(max(WIDTH * (change / reach + 1) / 2, 1.0), WIDTH - 1.0)

    low, high, at = place(ends[0]), place(ends[1]), place(verdict.ratio - 1.0)
    band = place(-verdict.margin), place(verdict.margin)
    colour = _INTERVAL_COLOURS.get(verdict.verdict, "#7d8590")
    words = f"change {change(verdict.ratio)}, interval {span(verdict.interval)}, margin {percent(verdict.margin)}"
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{html_text(words)}" style="display:block;margin:.3em 0">'
        f'<rect x="{band[0]:.1f}" y="3" width="{band[1] - band[0]:.1f}" height="20" fill="currentColor" opacity=".1"/>'
        f'<path d="M{WIDTH / 2:.1f} 0V{HEIGHT}" stroke="currentColor" opacity=".5"/>'
        f'<path d="M{low:.1f} 13H{high:.1f}" stroke="{colour}" stroke-width="3"/>'
        f'<circle cx="{at:.1f}" cy="13" r="5" fill="{colour}"/></svg>'
    )


def comparison_html(comparison: EnvironmentComparison) -> str:
    """Return a table with one row per benchmark, the most important ones first."""
    counts = ", ".join(count_parts(comparison))
    titled = comparison.titled_by_side()
    results = titled.by_importance
    more = len(results) - MOST_ROWS
    notes = [f"{more} more"] if more > 0 else []
    notes += [f"{failure.title} failed: {failure.message}" for failure in titled.failures]
    notes += comparison.warnings
    table = table_of(COMPARISON_COLUMNS, [_row(result) for result in results[:MOST_ROWS]], notes=notes)
    others = ", ".join(map(html_text, comparison.names[1:]))
    head = f"<b>{others} against {html_text(comparison.base)}</b>: {counts or 'nothing was compared'}"
    return f"<div>{head}{render_html(table)}</div>"


def _row(result: ComparisonResult) -> Row:
    cells: dict[str, Cell | Value] = {
        "verdict": _verdict_cell(result.verdict, result.judged.words),
        "benchmark": result.title,
        "instruction_ratio": None if result.instructions is None else result.instructions.ratio,
    }
    if result.judged.has_change:
        cells |= {
            "ratio": result.ratio,
            "interval": result.interval,
            "difference_seconds": result.difference_seconds,
        }
    return row_of(cells, tip=result.judged.reason)


def ranking_html(ranking: Ranking) -> str:
    """Return the outcome, a row per statement, and the notes."""
    notes = [note for note in (ranking.measured_by, *ranking.notes) if note]
    table = table_of(RANKING_COLUMNS, [_ranked(statement) for statement in ranking], notes=notes)
    return f"<div><b>{html_text(headline(ranking))}</b>{render_html(table)}</div>"


def _ranked(statement: RankedStatement) -> Row:
    verdict = statement.verdict
    cells: dict[str, Cell | Value] = {
        "rank": statement.rank,
        "statement": statement.name,
        "verdict": _verdict_cell(REFERENCE) if verdict is None else _verdict_cell(verdict.verdict, verdict.words),
        "drawn": float(statement.seconds),
        "seconds": statement.seconds,
    }
    if verdict is not None:
        cells |= {
            "ratio": verdict.ratio,
            "interval": verdict.interval,
            "difference_seconds": verdict.difference_seconds,
        }
    return row_of(cells, tip="" if verdict is None else verdict.reason)


def _verdict_cell(word: str, shown: str = "") -> Cell:
    mark = mark_of(word)
    return Cell(shown or word, mark=Mark.FAINT if mark is Mark.NONE else mark)
