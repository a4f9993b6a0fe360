"""The tables at the end of a session, as lines. In: records as the reports of tests carry them. Out: text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from photometer.model.device_measurement import DeviceMeasurement
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.measurement import Measurement
from photometer.model.records import from_record
from photometer.model.units import format_difference, format_interval, format_seconds
from photometer.model.visible_text import visible_line
from photometer.pytest_plugin.measuring import DEFAULT_COLUMN, DEFAULT_TOP, PROFILE, top_rows
from photometer.report.tables.as_text import note_lines, render_text
from photometer.report.tables.table import STAYS, Cell, Column, Kind, Row, Table, row_of, table_of

COLUMNS = (
    Column("benchmark", "benchmark", Kind.NAME),
    Column("median_seconds", "median", Kind.TIME, priority=STAYS),
    Column("interval", "95 % interval", Kind.TIME, priority=1),
    Column("minimum_seconds", "fastest", Kind.TIME, priority=3),
    Column("blocks", "blocks × runs", Kind.COUNT, priority=4),
    Column("instructions", "instructions", Kind.COUNT, priority=2),
    Column("note", "note", Kind.WORDS, priority=5),
)
PROFILE_COLUMNS = (
    Column("function", "function", Kind.NAME),
    Column("calls", "calls", Kind.COUNT, priority=STAYS),
    Column("tottime", "own", Kind.TIME, priority=STAYS),
    Column("tottime_per", "per call", Kind.TIME, priority=3),
    Column("cumtime", "total", Kind.TIME, priority=1),
    Column("cumtime_per", "total per call", Kind.TIME, priority=2),
)
# Narrow, because names of tests are long.
INDENT = "  "


def run_lines(records: Sequence[dict[str, Any]], width: int) -> list[str]:
    """Return one table per group, then the verdicts of `ab`, then devices' tables."""
    lines: list[str] = []
    for label, table in run_tables(records).items():
        lines += [visible_line(label), *render_text(table, width, indent=INDENT).splitlines()]
    for record in records:
        if record["kind"] == DeviceMeasurement.KIND:
            lines += ["", visible_line(record["test"]), *str(from_record(DeviceMeasurement, record)).splitlines()]
    lines += _verdicts(records, width)
    return lines


def run_tables(records: Sequence[dict[str, Any]]) -> dict[str, Table]:
    """Return a table per group, by its label."""
    groups: dict[str, list[Row]] = {}
    instructions = _instructions(records)
    for record in records:
        if record["kind"] == Measurement.KIND:
            label = record["task_spec"]["label"]
            groups.setdefault(label, []).append(_row(record, instructions.get(record["test"])))
    return {label: table_of(COLUMNS, rows) for label, rows in groups.items()}


def _row(record: dict[str, Any], instructions: float | None) -> Row:
    taken = from_record(Measurement, record)
    digits = max(taken.significant_figures, 2)

    def text(seconds: float) -> str:
        return format_seconds(seconds, digits)

    return row_of(
        {
            "benchmark": record["task_spec"]["sub_label"],
            "median_seconds": Cell(taken.median, text(taken.median)),
            "interval": Cell(taken.interval_seconds, format_interval(taken.interval_seconds, text))
            if len(taken.times) > 1
            else None,
            "minimum_seconds": Cell(taken.minimum, text(taken.minimum)),
            "blocks": Cell(len(taken.times), f"{len(taken.times)} × {taken.number_per_run}"),
            "instructions": instructions,
            "note": ", ".join(dict.fromkeys(warning.kind.value for warning in taken.warnings)),
        }
    )


def _instructions(records: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the instructions per run of each test that was counted."""
    counted = [record for record in records if record["kind"] == InstructionCounts.KIND]
    return {record["test"]: from_record(InstructionCounts, record).outside_allocator_per_run for record in counted}


def profile_lines(records: Sequence[dict[str, Any]], column: str | None, most: int | None, width: int) -> list[str]:
    """Return the top functions of each profiled test, by a column of cProfile's."""
    lines: list[str] = []
    column = column or DEFAULT_COLUMN
    for record in records:
        rows = (record.get("metadata") or {}).get(PROFILE)
        if rows:
            table = table_of(PROFILE_COLUMNS, [_profiled(row) for row in top_rows(rows, column, most or DEFAULT_TOP)])
            lines += ["", f"{visible_line(record['test'])}: cProfile by {column}"]
            lines += render_text(table, width, indent=INDENT).splitlines()
    return lines


def _profiled(row: dict[str, Any]) -> Row:
    times = {name: row[name] for name in ("tottime", "tottime_per", "cumtime", "cumtime_per")}
    return row_of({"function": row["function_name"], "calls": Cell(text=row["ncalls_recursion"]), **times})


def _verdicts(records: Sequence[dict[str, Any]], width: int) -> Iterator[str]:
    from photometer.analysis.ranking import Ranking

    for record in records:
        if record["kind"] != Ranking.KIND:
            continue
        ranking = from_record(Ranking, record)
        yield ""
        yield visible_line(record["test"])
        for pair in ranking.pairs:
            verdict = pair.verdict
            change = format_difference(verdict.difference_seconds) if verdict.has_change else ""
            yield f"{INDENT}{visible_line(pair.second)} against {visible_line(pair.first)}: {verdict.words} {change}"
            yield from note_lines(verdict.reason, width, INDENT * 2)
