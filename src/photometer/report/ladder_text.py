"""A Ladder as text for a terminal: one block per call, one line per rung; and its expectations, one sentence each."""

from __future__ import annotations

from collections.abc import Sequence

from photometer.analysis.ladder import Expectation, Ladder, LadderStep
from photometer.model.visible_text import visible_line
from photometer.report.tables.as_text import render_text
from photometer.report.tables.table import STAYS, Cell, Column, Kind, Row, Section, Table, row_of

COLUMNS = (
    Column("rung", "rung", Kind.NAME),
    Column("seconds", "time", Kind.TIME, priority=STAYS, digits=4),
    Column("added_seconds", "added", Kind.DIFFERENCE, priority=STAYS),
    Column("added_interval", "95 % interval", Kind.DIFFERENCE, priority=2),
    Column("instructions", "instructions", Kind.COUNT, priority=1),
    Column("added_instructions", "added instr.", Kind.ADDED, priority=1),
    Column("below", "over", Kind.WORDS, priority=3),
)


def table_of_ladder(ladder: Ladder) -> Table:
    """Return a section per call, a row per rung."""
    return Table(
        COLUMNS, tuple(Section(call, tuple(_row(step) for step in steps)) for call, steps in ladder.by_call().items())
    )


def render_ladder(ladder: Ladder, width: int = 100) -> str:
    """Return the ladder for a terminal."""
    return f"\n{render_text(table_of_ladder(ladder), width)}"


def render_expectations(expectations: Sequence[Expectation]) -> str:
    return "".join(f"{visible_line(expectation.sentence)}\n" for expectation in expectations)


def _row(step: LadderStep) -> Row:
    unknown = Cell(text="-")
    added = None if step.below is None else unknown if step.added_seconds is None else step.added_seconds
    return row_of(
        {
            "rung": step.rung,
            "seconds": unknown if step.seconds is None else step.seconds,
            "added_seconds": added,
            "added_interval": step.added_interval_seconds,
            "instructions": step.instructions,
            "added_instructions": None if step.added_instructions is None else round(step.added_instructions),
            "below": step.below,
        }
    )
