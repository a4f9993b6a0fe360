"""Parts that fragments for notebooks share besides tables: the badge of a verdict, and a reason to doubt."""

from __future__ import annotations

from photometer.report.escape import html_text
from photometer.report.tables.as_html import BACKGROUNDS
from photometer.report.tables.table import Mark
from photometer.report.verdict_text import mark_of


def badge(word: str, shown: str = "") -> str:
    """Return the word, or the given text, on the background of its verdict."""
    background = BACKGROUNDS.get(mark_of(word), BACKGROUNDS[Mark.FAINT])
    text = html_text(shown or word)
    return f'<span style="background:{background};padding:.1em .5em;border-radius:3px">{text}</span>'


def warning(message: str, remedy: str) -> str:
    """Return a reason to doubt, with a bar at its left."""
    return (
        f'<div style="border-left:3px solid #d29922;padding-left:.5em">{html_text(message)} '
        f'<span style="opacity:.75">{html_text(remedy)}</span></div>'
    )
