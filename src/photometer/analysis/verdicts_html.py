"""Verdicts as HTML for notebooks: one sentence, or a table of a whole comparison. No script, no outside resource.

Colours are half-transparent, so that they suit light and dark; everything from users is escaped.
"""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

from photometer.analysis.verdict_reason import percent, span
from photometer.model.units import format_seconds
from photometer.model.visible_text import visible

if TYPE_CHECKING:
    from photometer.analysis.comparison_result import ComparisonResult, EnvironmentComparison
    from photometer.analysis.verdict import Verdict

# A notebook's cell is no place for hundreds of rows; those that are the same go first.
MOST_ROWS = 40
_BACKGROUNDS = {
    "slower": "rgba(248,81,73,.3)",
    "faster": "rgba(56,139,213,.3)",
    "undecided": "rgba(219,160,40,.25)",
    "same": "rgba(128,128,128,.12)",
}
_CELL = "padding:.2em .8em;text-align:left"
_NUMBER = "padding:.2em .8em;text-align:right;white-space:nowrap"


def verdict_html(verdict: Verdict) -> str:
    """The word, the change with its interval, and the reason."""
    change = "" if not math.isfinite(verdict.ratio) else f" {_signed(verdict.ratio)} ({_text(span(verdict.interval))})"
    time = f", {_signed_seconds(verdict.difference_seconds)} of {format_seconds(verdict.base_seconds)}"
    notes = "".join(f"<br>{_text(note)}" for note in verdict.notes)
    return (
        f'<div style="margin:.4em 0">{_badge(verdict.verdict)}<b>{change}</b>{time}'
        f'<div style="opacity:.75;font-size:.9em">{_text(verdict.reason)}{notes}</div></div>'
    )


def comparison_html(comparison: EnvironmentComparison) -> str:
    """What matters most first."""
    counts = ", ".join(
        f"{comparison.count(word)} {word}"
        for word in ("slower", "undecided", "faster", "same")
        if comparison.count(word)
    )
    results = comparison.by_importance
    rows = "".join(_row(result) for result in results[:MOST_ROWS])
    more = len(results) - MOST_ROWS
    below = [f"{more} more"] if more > 0 else []
    below += [f"{_text(failure.title)} failed: {_text(failure.message)}" for failure in comparison.failures]
    below += [_text(warning) for warning in comparison.warnings]
    heads = "".join(f'<th style="{_CELL}">{head}</th>' for head in ("", "benchmark"))
    heads += "".join(f'<th style="{_NUMBER}">{head}</th>' for head in ("change", "interval", "a run", "instructions"))
    return (
        f'<div style="overflow-x:auto"><b>{_text(comparison.branch)} against {_text(comparison.base)}</b>: '
        f"{counts or 'nothing was compared'}"
        f'<table style="border-collapse:collapse;font-variant-numeric:tabular-nums"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
        f'<div style="opacity:.75;font-size:.9em">{"<br>".join(below)}</div></div>'
    )


def _row(result: ComparisonResult) -> str:
    instructions = "" if result.instructions is None else _signed(result.instructions.ratio)
    figures = (_signed(result.ratio), _text(span(result.interval)), _signed_seconds(result.difference_seconds))
    numbers = "".join(f'<td style="{_NUMBER}">{figure}</td>' for figure in (*figures, instructions))
    told = html.escape(visible(result.judged.reason), quote=True)
    return (
        f'<tr title="{told}"><td style="{_CELL}">{_badge(result.verdict)}</td>'
        f'<td style="{_CELL}">{_text(result.title)}</td>{numbers}</tr>'
    )


def _badge(word: str) -> str:
    return f'<span style="background:{_BACKGROUNDS[word]};padding:.1em .5em;border-radius:3px">{word}</span>'


def _signed(ratio: float) -> str:
    return ("+" if ratio > 1.0 else "") + percent(ratio - 1.0).replace("-", "−")


def _signed_seconds(seconds: float) -> str:
    return f"{'+' if seconds > 0 else '−' if seconds < 0 else ''}{format_seconds(abs(seconds), 3)}"


def _text(text: str) -> str:
    return html.escape(visible(text))
