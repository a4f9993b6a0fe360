"""Times of the ranks of a group as text: how long each takes, and by how much the slowest is slower.

In: RankTimes. Out: a table with a row per statement and rank.
"""

from __future__ import annotations

from collections.abc import Sequence

from photometer.model.rank_times import RankTimes
from photometer.report.tables.as_text import render_text
from photometer.report.tables.table import STAYS, Column, Kind, Row, Table, row_of, table_of

ALL_RANKS = "all"
COLUMNS = (
    Column("benchmark", "statement", Kind.NAME),
    Column("rank", "rank", Kind.WORDS, priority=STAYS),
    Column("seconds", "per run", Kind.TIME, priority=STAYS),
    Column("spread", "spread", Kind.SHARE, meaning="by how much the slowest rank is slower than the fastest"),
)
NOTE = "A block begins when all ranks have reached it; the time of all is that of the slowest."


def table_of_ranks(measured: Sequence[RankTimes]) -> Table:
    """Return the times of each group: of all ranks, then of each."""
    return table_of(COLUMNS, [row for times in measured for row in _rows(times)], notes=[NOTE])


def render_ranks(measured: Sequence[RankTimes], width: int) -> str:
    return render_text(table_of_ranks(measured), width)


def _rows(times: RankTimes) -> list[Row]:
    spec = times.task_spec
    name = " ".join(part for part in (spec.description or spec.stmt, spec.sub_label) if part)
    each = [
        row_of({"benchmark": "", "rank": str(rank), "seconds": seconds}) for rank, seconds in enumerate(times.by_rank)
    ]
    return [row_of({"benchmark": name, "rank": ALL_RANKS, "seconds": times.slowest, "spread": times.spread}), *each]
