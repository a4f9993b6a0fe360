"""FigureTable: a table of text for the page, about what was measured beside times and counts."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class FigureTable:
    """The first column names benchmarks."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
