"""Eager, TorchScript and compiled variants side by side as text; and a compile report by itself.

In: RuntimeRows, or a CompileReport, and a width. Out: one string. A row per benchmark and compiled variant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from photometer.analysis.speedup import RuntimeRow, Speedup
from photometer.model.compile_report import CompileReport
from photometer.model.units import format_seconds
from photometer.model.visible_text import visible_line
from photometer.report.text_width import pad, width_of, wrap

HEADS = ("eager", "TorchScript", "compiled", "speed-up", "cold", "warm", "graphs", "breaks", "again", "guards")
LEGEND = (
    "speed-up: eager over compiled, measured in pairs, with its 95 % interval. cold, warm: the first call without and "
    "with what was compiled before. again: recompilations, over all sizes of a sweep. guards: time per call."
)
UNKNOWN = "-"


def render_runtimes(rows: Sequence[RuntimeRow], width: int) -> str:
    """Return the table, its legend, and the graph breaks and recompilations below it; empty without rows."""
    if not rows:
        return ""
    cells = [(_name(row), *_cells(row)) for row in rows]
    shown = [column for column in range(len(HEADS)) if any(row[column + 1] not in ("", UNKNOWN) for row in cells)]
    heads = ["", *(HEADS[column] for column in shown)]
    table = [[row[0], *(row[column + 1] for column in shown)] for row in cells]
    widths = [max(width_of(line[place]) for line in (heads, *table)) for place in range(len(heads))]
    lines = ["", "With torch.compile:", *(_line(line, widths) for line in (heads, *table))]
    lines += ["", *wrap(LEGEND, width)]
    for row in rows:
        lines += _troubles(row, width)
    return "\n".join(lines) + "\n"


def render_compile_report(report: CompileReport, width: int) -> str:
    """Return what one statement's compilation took and met, a fact per line."""
    graphs = "1 graph" if report.graphs == 1 else f"{report.graphs} graphs"
    lines = [f"  {graphs}, {_times(report.break_count, 'graph break')}"]
    cold, warm = _seconds(report.compile_seconds), _seconds(report.warm_compile_seconds)
    lines.append(f"  first call {cold} with an empty cache, {warm} with a full one")
    if report.guard_seconds is not None:
        guards = "" if report.guards is None else f" ({report.guards} guards)"
        lines.append(f"  guards take {format_seconds(report.guard_seconds, 3)} per call{guards}")
    if report.swept:
        lines.append(f"  {_times(len(report.recompilations), 'recompilation')} over the other sizes")
    elif report.recompilations:
        lines.append(f"  {_times(len(report.recompilations), 'recompilation')}")
    return "\n".join([*lines, *trouble_lines(report, width)]) + "\n"


def trouble_lines(report: CompileReport, width: int) -> list[str]:
    """Return each graph break and recompilation with its place, its reason and a hint."""
    lines: list[str] = []
    for each in report.breaks:
        times = "" if each.count == 1 else f" ({each.count} times)"
        place = f" at {each.place}" if each.place else ""
        lines += _wrapped(f"graph break{place}{times}: {each.reason}", width)
        lines += [f"      | {visible_line(each.code)}"] if each.code else []
        lines += _wrapped(f"hint: {each.hint}", width, "      ") if each.hint else []
    for again in report.recompilations:
        place = f" at {again.place}" if again.place else ""
        lines += _wrapped(f"recompiled {again.function}{place}: {again.reason}", width)
    return lines


def speedup_text(speedup: Speedup) -> str:
    """Return `1.84× (1.79 to 1.90)`."""
    low, high = (f"{end:.2f}" if math.isfinite(end) else "any" for end in speedup.interval)
    return f"{speedup.speedup:.2f}× ({low} to {high})"


def _troubles(row: RuntimeRow, width: int) -> list[str]:
    if row.report is None or not (row.report.breaks or row.report.recompilations):
        return []
    return ["", _name(row), *trouble_lines(row.report, width)]


def _name(row: RuntimeRow) -> str:
    return visible_line(f"{row.name} {row.variant}".rstrip())


def _cells(row: RuntimeRow) -> tuple[str, ...]:
    report = row.report
    if report is None:
        met = (UNKNOWN,) * 6
    else:
        met = (
            _seconds(report.compile_seconds),
            _seconds(report.warm_compile_seconds),
            str(report.graphs),
            str(report.break_count),
            str(len(report.recompilations)) if report.swept or report.recompilations else "",
            _seconds(report.guard_seconds),
        )
    scripted = _seconds(row.torchscript_seconds)
    if row.torchscript_speedup is not None:
        scripted += f" ({row.torchscript_speedup.speedup:.2f}×)"
    faster = UNKNOWN if row.speedup is None else speedup_text(row.speedup)
    return (_seconds(row.eager_seconds), scripted, _seconds(row.seconds), faster, *met)


def _seconds(seconds: float | None) -> str:
    return UNKNOWN if seconds is None else format_seconds(seconds, 3)


def _times(count: int, what: str) -> str:
    return f"no {what}s" if count == 0 else f"1 {what}" if count == 1 else f"{count} {what}s"


def _wrapped(text: str, width: int, indent: str = "    ") -> list[str]:
    lines = wrap(visible_line(text), max(width - len(indent) - 2, 20))
    return [indent + ("  " if place else "") + line for place, line in enumerate(lines)]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    figures = [" " * (size - width_of(cell)) + cell for cell, size in zip(cells[1:], widths[1:], strict=True)]
    return "  ".join([pad(cells[0], widths[0]), *figures]).rstrip()
