"""MemoryMeasurement in a notebook: what one run allocates, on the CPU and on an accelerator, and whether it repeats."""

from __future__ import annotations

from photometer.model.memory_measurement import MemoryFigures, MemoryMeasurement, format_bytes
from photometer.report.escape import html_lines, html_text
from photometer.report.notebook.look import SOFT, row, table

_HEADS = ("one run", "peak", "allocates", "blocks", "keeps")


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
    return (
        f'<div style="line-height:1.5;overflow-x:auto"><b>{html_lines(memory.task_spec.title)}</b>'
        f"{table(_HEADS, rows, words=1)}"
        f'<div style="{SOFT}">{"<br>".join(html_text(note) for note in notes)}</div></div>'
    )


def _row(place: str, figures: MemoryFigures) -> str:
    amounts = (figures.peak_bytes, figures.allocated_bytes)
    cells = [*map(format_bytes, amounts), f"{figures.allocations:,}", format_bytes(figures.kept_bytes)]
    return row((html_text(place),), tuple(cells))
