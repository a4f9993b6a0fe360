"""A Ranking in a notebook: one row per statement, fastest first, with a bar for its time and the verdict."""

from __future__ import annotations

from photometer.analysis.ranking import RankedStatement, Ranking
from photometer.analysis.verdict_reason import span
from photometer.model.units import format_seconds
from photometer.report.escape import html_lines, html_text
from photometer.report.notebook.look import SOFT, badge, row, signed, signed_seconds, table
from photometer.report.ranking_text import headline

BAR_WIDTH = 100


def ranking_html(ranking: Ranking) -> str:
    """Return the answer, a row per statement, and what was noticed."""
    longest = max((statement.seconds for statement in ranking), default=0.0)
    rows = [_row(statement, longest) for statement in ranking]
    heads = ("rank", "statement", "verdict", "", "per run", "change", "interval", "difference")
    notes = [note for note in (ranking.measured_by, *ranking.notes) if note]
    return (
        f'<div style="overflow-x:auto"><b>{html_text(headline(ranking))}</b>{table(heads, rows, words=4)}'
        f'<div style="{SOFT}">{"<br>".join(html_text(note) for note in notes)}</div></div>'
    )


def _row(statement: RankedStatement, longest: float) -> str:
    width = BAR_WIDTH * statement.seconds / longest if longest > 0 else 0.0
    bar = (
        f'<svg width="{BAR_WIDTH}" height="12" aria-hidden="true" style="display:block">'
        f'<rect width="{max(width, 1.0):.1f}" height="12" fill="currentColor" opacity=".45"/></svg>'
    )
    name = f"<code>{html_lines(statement.name)}</code>"
    time = f"<b>{format_seconds(statement.seconds)}</b>"
    verdict = statement.verdict
    if verdict is None:
        return row((str(statement.rank), name, badge("reference"), bar), (time, "", "", ""))
    figures = (signed(verdict.ratio), html_text(span(verdict.interval)), signed_seconds(verdict.difference_seconds))
    return row((str(statement.rank), name, badge(verdict.verdict), bar), (time, *figures), title=verdict.reason)
