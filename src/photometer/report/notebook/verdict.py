"""Verdicts in a notebook: one, with a picture of its interval, those of two environments, a ranking of statements."""

from __future__ import annotations

import math

from photometer.analysis.comparison_result import ComparisonResult, EnvironmentComparison
from photometer.analysis.ranking import RankedStatement, Ranking
from photometer.analysis.verdict import Verdict
from photometer.analysis.verdict_reason import percent, span
from photometer.model.units import format_seconds
from photometer.report.escape import html_lines, html_text
from photometer.report.notebook.look import SOFT, badge, bar, row, signed, signed_seconds, table
from photometer.report.ranking_text import headline

# A notebook cell is no place for hundreds of rows; benchmarks without a change are left out first.
MOST_ROWS = 40
WIDTH, HEIGHT = 320, 26
# The picture reaches to the farther end of the interval, or this many margins if that is more.
FEWEST_MARGINS = 2.0
# An interval that is not known yet, or is wider than this, is drawn to the edges.
WIDEST_SHOWN = 1.0
_INTERVAL_COLOURS = {"slower": "#d1493d", "faster": "#388bd5", "undecided": "#c08a1e"}


def verdict_html(verdict: Verdict) -> str:
    """Return the verdict, the change with its interval as text and picture, and the reason."""
    change = (
        "" if not math.isfinite(verdict.ratio) else f" {signed(verdict.ratio)} ({html_text(span(verdict.interval))})"
    )
    time = f", {signed_seconds(verdict.difference_seconds)} of {format_seconds(verdict.base_seconds)}"
    below = (verdict.reason, verdict.measured_by, *verdict.notes)
    lines = "<br>".join(html_text(line) for line in below if line)
    return (
        f'<div style="margin:.4em 0">{badge(verdict.verdict)}<b>{change}</b>{time}'
        f'{interval_svg(verdict)}<div style="{SOFT}">{lines}</div></div>'
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
    words = f"change {signed(verdict.ratio)}, interval {span(verdict.interval)}, margin {percent(verdict.margin)}"
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
    counts = ", ".join(
        f"{comparison.count(word)} {word}"
        for word in ("slower", "undecided", "faster", "same", "identical")
        if comparison.count(word)
    )
    results = comparison.by_importance
    rows = [_row(result) for result in results[:MOST_ROWS]]
    more = len(results) - MOST_ROWS
    below = [f"{more} more"] if more > 0 else []
    below += [f"{html_text(failure.title)} failed: {html_text(failure.message)}" for failure in comparison.failures]
    below += [html_text(warning) for warning in comparison.warnings]
    heads = ("", "benchmark", "change", "interval", "per run", "instructions")
    return (
        f'<div style="overflow-x:auto"><b>{html_text(comparison.branch)} against {html_text(comparison.base)}</b>: '
        f"{counts or 'nothing was compared'}{table(heads, rows, words=2)}"
        f'<div style="{SOFT}">{"<br>".join(below)}</div></div>'
    )


def _row(result: ComparisonResult) -> str:
    instructions = "" if result.instructions is None else signed(result.instructions.ratio)
    figures = (signed(result.ratio), html_text(span(result.interval)), signed_seconds(result.difference_seconds))
    words = (badge(result.verdict), html_text(result.title))
    return row(words, (*figures, instructions), title=result.judged.reason)


def ranking_html(ranking: Ranking) -> str:
    """Return the outcome, a row per statement, and what was noticed."""
    longest = max((statement.seconds for statement in ranking), default=0.0)
    rows = [_ranked(statement, longest) for statement in ranking]
    heads = ("rank", "statement", "verdict", "", "per run", "change", "interval", "difference")
    notes = [note for note in (ranking.measured_by, *ranking.notes) if note]
    return (
        f'<div style="overflow-x:auto"><b>{html_text(headline(ranking))}</b>{table(heads, rows, words=4)}'
        f'<div style="{SOFT}">{"<br>".join(html_text(note) for note in notes)}</div></div>'
    )


def _ranked(statement: RankedStatement, longest: float) -> str:
    drawn = bar(statement.seconds, longest)
    name = f"<code>{html_lines(statement.name)}</code>"
    time = f"<b>{format_seconds(statement.seconds)}</b>"
    verdict = statement.verdict
    if verdict is None:
        return row((str(statement.rank), name, badge("reference"), drawn), (time, "", "", ""))
    figures = (signed(verdict.ratio), html_text(span(verdict.interval)), signed_seconds(verdict.difference_seconds))
    return row((str(statement.rank), name, badge(verdict.verdict), drawn), (time, *figures), title=verdict.reason)
