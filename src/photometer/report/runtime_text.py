"""Eager, TorchScript and compiled variants side by side as text; and a compile report by itself.

In: RuntimeRows, or a CompileReport, and a width. Out: one string. A row per benchmark and compiled variant.
"""

from __future__ import annotations

from collections.abc import Sequence

from photometer.analysis.speedup import RuntimeRow
from photometer.instruments.callgrind.compile_counts import CompileCounts
from photometer.instruments.speedup import Speedup
from photometer.model.compile_report import CompileReport
from photometer.model.units import format_count, format_interval, format_ratio, format_seconds
from photometer.model.visible_text import visible_line
from photometer.report.tables.as_text import note_lines, render_text
from photometer.report.tables.table import STAYS, Cell, Column, Kind, Row, Table, Value, row_of, table_of

COLUMNS = (
    Column("benchmark", "", Kind.NAME),
    Column("eager_seconds", "eager", Kind.TIME, priority=1),
    Column("torchscript_seconds", "TorchScript", Kind.TIME, priority=3),
    Column("seconds", "compiled", Kind.TIME, priority=STAYS),
    Column("speedup", "speed-up", Kind.RATIO, priority=STAYS),
    Column("cold_seconds", "cold", Kind.TIME, priority=4),
    Column("warm_seconds", "warm", Kind.TIME, priority=4),
    Column("graphs", "graphs", Kind.COUNT, priority=5),
    Column("breaks", "breaks", Kind.COUNT, priority=2),
    Column("recompilations", "recompiled", Kind.COUNT, priority=2),
    Column("guard_seconds", "guards", Kind.TIME, priority=6),
)
LEGEND = (
    "speed-up: eager over compiled, measured in pairs, with its 95 % interval. cold, warm: the first call without and "
    "with what was compiled before. recompiled: how often, over all sizes of a sweep. guards: time per call."
)
UNKNOWN = Cell(text="-")


def table_of_runtimes(rows: Sequence[RuntimeRow]) -> Table:
    """Return a row per benchmark and compiled variant."""
    return table_of(COLUMNS, [_row(row) for row in rows], notes=(LEGEND,))


def render_runtimes(rows: Sequence[RuntimeRow], width: int) -> str:
    """Return the table, its legend, and the graph breaks and recompilations below it; empty without rows."""
    if not rows:
        return ""
    lines = ["", "With torch.compile:", *render_text(table_of_runtimes(rows), width).splitlines()]
    for row in rows:
        lines += _troubles(row, width)
    return "\n".join(lines) + "\n"


def render_compile_report(report: CompileReport, width: int, counts: CompileCounts | None = None) -> str:
    """Return the report on one statement's compilation, a fact per line."""
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
    if counts is not None:
        beyond = counts.overhead_per_call
        more = "" if beyond is None else f", {format_count(beyond)} more than without torch.compile"
        lines.append(f"  {format_count(counts.compilation)} instructions to compile")
        lines.append(f"  {format_count(counts.per_call)} instructions per call{more}")
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
    """Return `1.84× (1.79× to 1.90×)`."""
    return f"{format_ratio(speedup.speedup)} ({format_interval(speedup.interval, format_ratio)})"


def _troubles(row: RuntimeRow, width: int) -> list[str]:
    if row.report is None or not (row.report.breaks or row.report.recompilations):
        return []
    return ["", _name(row), *trouble_lines(row.report, width)]


def _name(row: RuntimeRow) -> str:
    return visible_line(f"{row.name} {row.variant}".rstrip())


def _row(row: RuntimeRow) -> Row:
    report, speedup, scripted = row.report, row.speedup, row.torchscript_speedup
    met: dict[str, Cell | Value] = {}
    if report is not None:
        met = {
            "cold_seconds": report.compile_seconds,
            "warm_seconds": report.warm_compile_seconds,
            "graphs": report.graphs,
            "breaks": report.break_count,
            "recompilations": len(report.recompilations) if report.swept or report.recompilations else None,
            "guard_seconds": report.guard_seconds,
        }
    faster = "" if scripted is None else f" ({format_ratio(scripted.speedup)})"
    return row_of(
        {
            "benchmark": f"{row.name} {row.variant}".rstrip(),
            "eager_seconds": UNKNOWN if row.eager_seconds is None else row.eager_seconds,
            "torchscript_seconds": Cell(row.torchscript_seconds, after=faster),
            "seconds": UNKNOWN if row.seconds is None else row.seconds,
            "speedup": UNKNOWN if speedup is None else Cell(speedup.speedup, speedup_text(speedup)),
            **met,
        }
    )


def _seconds(seconds: float | None) -> str:
    return "-" if seconds is None else format_seconds(seconds, 3)


def _times(count: int, what: str) -> str:
    return f"no {what}s" if count == 0 else f"1 {what}" if count == 1 else f"{count} {what}s"


def _wrapped(text: str, width: int, indent: str = "    ") -> list[str]:
    return note_lines(visible_line(text), width, indent, indent + "  ")
