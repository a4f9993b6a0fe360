"""A Ladder as text for a terminal: one block per call, one line per rung; and its expectations, one sentence each."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from photometer.analysis.ladder import Expectation, Ladder, LadderStep, signed_seconds
from photometer.model.units import format_seconds
from photometer.model.visible_text import visible_line
from photometer.report.text_width import pad, width_of

HEADS = ("time", "added", "95 % interval", "instructions", "added", "over")


def render_ladder(ladder: Ladder) -> str:
    """Return the ladder in columns as wide as they need to be, figures aligned to the right."""
    shown = Ladder(tuple(_visible(step) for step in ladder))
    rows = {call: [_cells(step) for step in steps] for call, steps in shown.by_call().items()}
    names = [f"  {step.rung}" for step in shown] + list(rows)
    name_width = max((width_of(name) for name in names), default=0)
    cells = [HEADS, *(row for block in rows.values() for row in block)]
    widths = [max(width_of(row[column]) for row in cells) for column in range(len(HEADS))]
    lines = []
    for call, steps in shown.by_call().items():
        lines += ["", _line(call, name_width, HEADS, widths)]
        lines += [_line(f"  {step.rung}", name_width, _cells(step), widths) for step in steps]
    return "\n".join(lines) + "\n"


def render_expectations(expectations: Sequence[Expectation]) -> str:
    return "".join(f"{visible_line(expectation.sentence)}\n" for expectation in expectations)


def _visible(step: LadderStep) -> LadderStep:
    below = None if step.below is None else visible_line(step.below)
    return dataclasses.replace(step, call=visible_line(step.call), rung=visible_line(step.rung), below=below)


def _cells(step: LadderStep) -> tuple[str, ...]:
    ends = step.added_interval_seconds
    return (
        "-" if step.seconds is None else format_seconds(step.seconds, 4),
        "" if step.below is None else "-" if step.added_seconds is None else signed_seconds(step.added_seconds),
        "" if ends is None else f"{signed_seconds(ends[0])} to {signed_seconds(ends[1])}",
        "" if step.instructions is None else f"{step.instructions:,.0f}",
        "" if step.added_instructions is None else f"{round(step.added_instructions):+,}",
        step.below or "",
    )


def _line(name: str, name_width: int, cells: Sequence[str], widths: Sequence[int]) -> str:
    *figures, last = cells
    aligned = [" " * (width - width_of(cell)) + cell for cell, width in zip(figures, widths, strict=False)]
    return "  ".join([pad(name, name_width), *aligned, last]).rstrip()
