"""What statements allocate, as text: a table with a row per statement, and how each differs from the first.

In: MemoryMeasurements. Out: one string.
"""

from __future__ import annotations

from collections.abc import Sequence

from photometer.analysis.memory_change import memory_change
from photometer.model.memory_measurement import MemoryMeasurement, format_bytes
from photometer.model.visible_text import visible_line
from photometer.report.text_columns import text_columns

_HEADS = ("memory of one run", "peak", "allocates", "blocks", "keeps", "reserved")
UNSTEADY = "What it allocates differs from run to run: the figures that most runs have are shown."


def render_memories(memories: Sequence[MemoryMeasurement], width: int) -> str:
    """Return the table. On an accelerator the figures are its own allocator's."""
    lines = text_columns(_HEADS, [_cells(memory) for memory in memories], width)
    unsteady = [name_of(memory) for memory in memories if not memory.is_exact]
    lines += [visible_line(f"{name}: {UNSTEADY}") for name in unsteady]
    return "\n".join(lines) + "\n"


def render_memory_differences(memories: Sequence[MemoryMeasurement]) -> str:
    """Return a line for each statement after the first: what it allocates more or less."""
    first, *others = memories
    lines = []
    for other in others:
        change = memory_change(first, other)
        words = change.sentence or "allocates exactly as much as the first"
        lines.append(visible_line(f"{name_of(other)}: {words}"))
    return "".join(f"{line}\n" for line in lines)


def name_of(memory: MemoryMeasurement) -> str:
    """Return what a row is called: the statement's name or text, and the sizes it has."""
    spec = memory.task_spec
    return " ".join(part for part in (spec.description or spec.stmt, spec.sub_label) if part)


def _cells(memory: MemoryMeasurement) -> tuple[str, ...]:
    figures = memory.main
    reserved = memory.device_reserved_bytes
    return (
        name_of(memory),
        format_bytes(figures.peak_bytes),
        format_bytes(figures.allocated_bytes),
        f"{figures.allocations:,}",
        format_bytes(figures.kept_bytes) if figures.kept_bytes else "",
        "" if reserved is None else f"{format_bytes(reserved)} on {memory.device}",
    )
