"""Allocations of statements as text: a table with a row per statement, and how each differs from the first.

In: MemoryMeasurements. Out: one string.
"""

from __future__ import annotations

from collections.abc import Sequence

from photometer.analysis.figure_change import memory_change
from photometer.model.memory_measurement import MemoryMeasurement
from photometer.model.visible_text import visible_line
from photometer.report.tables.as_text import render_text
from photometer.report.tables.table import STAYS, Cell, Column, Kind, Row, Table, row_of, table_of

COLUMNS = (
    Column("benchmark", "memory of one run", Kind.NAME),
    Column("peak_bytes", "peak", Kind.BYTES, priority=STAYS),
    Column("allocated_bytes", "allocates", Kind.BYTES),
    Column("allocations", "blocks", Kind.COUNT),
    Column("kept_bytes", "keeps", Kind.BYTES, priority=STAYS, meaning="more after each run"),
    Column("reserved_bytes", "reserved", Kind.BYTES, priority=2, meaning="by the accelerator's allocator"),
    Column("process_bytes", "process", Kind.BYTES, priority=3, meaning="how much it grew, in whole pages"),
)
UNSTEADY = "Its allocations differ from run to run: the most frequent figures are shown."


def table_of_memories(named: Sequence[tuple[str, MemoryMeasurement]]) -> Table:
    """Return a row per measurement. On an accelerator the figures are its own allocator's."""
    notes = [f"{name}: {UNSTEADY}" for name, memory in named if not memory.is_exact]
    return table_of(COLUMNS, [_row(name, memory) for name, memory in named], notes=notes)


def render_memories(memories: Sequence[MemoryMeasurement], width: int) -> str:
    """Return the table for a terminal."""
    return render_text(table_of_memories([(name_of(memory), memory) for memory in memories]), width)


def render_memory_differences(memories: Sequence[MemoryMeasurement]) -> str:
    """Return a line for each statement after the first: how much more or less it allocates."""
    first, *others = memories
    lines = []
    for other in others:
        change = memory_change(first, other)
        words = change.sentence or "allocates exactly as much as the first"
        lines.append(visible_line(f"{name_of(other)}: {words}"))
    return "".join(f"{line}\n" for line in lines)


def name_of(memory: MemoryMeasurement) -> str:
    """Return the name of a row: the statement's name or text, and its sizes."""
    spec = memory.task_spec
    return " ".join(part for part in (spec.description or spec.stmt, spec.sub_label) if part)


def _row(name: str, memory: MemoryMeasurement) -> Row:
    figures = memory.main
    reserved = memory.device_reserved_bytes
    return row_of(
        {
            "benchmark": name,
            "peak_bytes": figures.peak_bytes,
            "allocated_bytes": figures.allocated_bytes,
            "allocations": figures.allocations,
            "kept_bytes": figures.kept_bytes or None,
            "reserved_bytes": None if reserved is None else Cell(reserved, after=f" on {memory.device}"),
            "process_bytes": memory.process_peak_bytes,
        }
    )
