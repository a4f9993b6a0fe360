"""MemoryMeasurement in a notebook: the allocations of one run, on CPU and accelerator, and whether they repeat."""

from __future__ import annotations

from photometer.model.memory_measurement import MemoryFigures, MemoryMeasurement
from photometer.model.units import format_bytes
from photometer.report.escape import html_lines
from photometer.report.tables.as_html import render_html
from photometer.report.tables.table import Column, Kind, Row, row_of, table_of

COLUMNS = (
    Column("place", "one run", Kind.NAME),
    Column("peak_bytes", "peak", Kind.BYTES),
    Column("allocated_bytes", "allocates", Kind.BYTES),
    Column("allocations", "blocks", Kind.COUNT),
    Column("kept_bytes", "keeps", Kind.BYTES),
)


def memory_html(memory: MemoryMeasurement) -> str:
    """Return a row for the accelerator, if there is one, and one for the CPU."""
    rows = [] if memory.on_device is None else [_row(memory.device, memory.on_device)]
    rows.append(_row("CPU", memory.host))
    runs = len(memory.repeats)
    notes = [f"{runs} runs, {'all exactly equal' if memory.is_exact else 'not all equal'}"]
    if memory.device_reserved_bytes is not None:
        notes.append(f"{format_bytes(memory.device_reserved_bytes)} reserved on {memory.device} at most")
    if memory.process_peak_bytes is not None:
        notes.append(f"the process grew by up to {format_bytes(memory.process_peak_bytes)} (in whole pages)")
    table = table_of(COLUMNS, rows, notes=notes)
    return f'<div style="line-height:1.5"><b>{html_lines(memory.task_spec.title)}</b>{render_html(table)}</div>'


def _row(place: str, figures: MemoryFigures) -> Row:
    return row_of(
        {
            "place": place,
            "peak_bytes": figures.peak_bytes,
            "allocated_bytes": figures.allocated_bytes,
            "allocations": figures.allocations,
            "kept_bytes": figures.kept_bytes,
        }
    )
