"""The look that all fragments for notebooks share: cells, badges, and signed figures.

Colours are the notebook's own or half-transparent, so that they suit light and dark ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from photometer.analysis.verdict_reason import percent
from photometer.model.units import format_seconds
from photometer.report.escape import html_text

_BACKGROUNDS = {
    "slower": "rgba(248,81,73,.3)",
    "faster": "rgba(56,139,213,.3)",
    "undecided": "rgba(219,160,40,.25)",
    "same": "rgba(128,128,128,.12)",
    "identical": "rgba(128,128,128,.12)",
}
_PLAIN_BACKGROUND = "rgba(128,128,128,.12)"
CELL = "padding:.2em .8em;text-align:left"
NUMBER = "padding:.2em .8em;text-align:right;white-space:nowrap"
SOFT = "opacity:.75;font-size:.9em"

BAR_WIDTH = 120


def badge(word: str) -> str:
    """Return the word on the background of its verdict."""
    background = _BACKGROUNDS.get(word, _PLAIN_BACKGROUND)
    return f'<span style="background:{background};padding:.1em .5em;border-radius:3px">{html_text(word)}</span>'


def table(heads: Sequence[str], rows: Sequence[str], words: int) -> str:
    """Return a table. The first `words` columns are text, the others numbers; `rows` are whole `<tr>` elements."""
    cells = "".join(
        f'<th style="{CELL if i < words else NUMBER}">{html_text(head)}</th>' for i, head in enumerate(heads)
    )
    return (
        '<table style="border-collapse:collapse;font-variant-numeric:tabular-nums">'
        f"<thead><tr>{cells}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def row(words: Sequence[str], numbers: Sequence[str], title: str = "") -> str:
    """Return a row of cells that are HTML already; `title` is text, shown when the mouse rests on the row."""
    cells = "".join(f'<td style="{CELL}">{word}</td>' for word in words)
    cells += "".join(f'<td style="{NUMBER}">{number}</td>' for number in numbers)
    tip = f' title="{html_text(title)}"' if title else ""
    return f"<tr{tip}>{cells}</tr>"


def warning(message: str, remedy: str) -> str:
    """Return a reason to doubt, with a bar at its left."""
    return (
        f'<div style="border-left:3px solid #d29922;padding-left:.5em">{html_text(message)} '
        f'<span style="opacity:.75">{html_text(remedy)}</span></div>'
    )


def signed(ratio: float) -> str:
    """Return a ratio as a change, with a true minus sign."""
    return ("+" if ratio > 1.0 else "") + percent(ratio - 1.0).replace("-", "−")


def signed_seconds(seconds: float) -> str:
    return f"{'+' if seconds > 0 else '−' if seconds < 0 else ''}{format_seconds(abs(seconds), 3)}"


def bar(value: float, longest: float) -> str:
    """Return a bar as long as the value's share of the longest."""
    width = BAR_WIDTH * value / longest if longest > 0 else 0.0
    return (
        f'<svg width="{BAR_WIDTH}" height="12" aria-hidden="true" style="display:block">'
        f'<rect width="{max(width, 1.0):.1f}" height="12" fill="currentColor" opacity=".45"/></svg>'
    )
