"""Rows of cells as aligned text: the first column to the left, numbers to the right. In: cells as text. Out: lines."""

from __future__ import annotations

from collections.abc import Sequence

from photometer.model.visible_text import visible_line
from photometer.report.text_width import pad, width_of

GAP = "  "
# Names are cut and figures are not; a shorter name would say nothing.
NARROWEST_NAME = 16


def text_columns(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return one line per row, below the heads. The first cells are names of users and are cut to fit the width.

    A column without any cell is left out.
    """
    kept = [place for place in range(len(heads)) if place == 0 or any(row[place] for row in rows)]
    heads, rows = [heads[place] for place in kept], [[row[place] for place in kept] for row in rows]
    names = [visible_line(row[0]) for row in rows]
    widths = [max(width_of(cells[place]) for cells in (heads, *rows)) for place in range(1, len(heads))]
    longest = max(map(width_of, (heads[0], *names)), default=0)
    name_width = min(longest, max(width - sum(widths) - len(GAP) * len(widths), NARROWEST_NAME))
    lines = []
    for name, cells in zip((heads[0], *names), (heads, *rows), strict=True):
        right = [" " * (size - width_of(cell)) + cell for cell, size in zip(cells[1:], widths, strict=True)]
        lines.append(GAP.join([pad(_cut(name, name_width), name_width), *right]).rstrip())
    return lines


def _cut(name: str, width: int) -> str:
    while len(name) > 1 and width_of(name) > width:
        name = name[:-2] + "…"
    return name
