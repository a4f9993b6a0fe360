"""The tables at the end of a session, as lines. In: records as the reports of tests carry them. Out: text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from photometer.model.device_measurement import DeviceMeasurement
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.measurement import Measurement
from photometer.model.records import from_record
from photometer.model.units import format_seconds
from photometer.model.visible_text import visible_line
from photometer.pytest_plugin.profiled import DEFAULT_COLUMN, DEFAULT_TOP, PROFILE, top_rows
from photometer.report.text_columns import text_columns
from photometer.report.verdict_text import duration

HEADS = ("benchmark", "median", "95 % interval", "fastest", "blocks × runs", "instructions", "note")
PROFILE_HEADS = ("function", "calls", "own", "per call", "total", "per call")
# Narrow, because names of tests are long.
INDENT = "  "


def run_lines(records: Sequence[dict[str, Any]], width: int) -> list[str]:
    """Return one table per group, then the verdicts of `ab`, then devices' tables."""
    lines: list[str] = []
    groups: dict[str, list[tuple[str, ...]]] = {}
    instructions = _instructions(records)
    for record in records:
        if record["kind"] == Measurement.KIND:
            label = record["task_spec"]["label"]
            groups.setdefault(label, []).append(_row(record, instructions.get(record["test"])))
    for label, rows in groups.items():
        lines += [visible_line(label), *(INDENT + line for line in text_columns(HEADS, rows, width - len(INDENT)))]
    for record in records:
        if record["kind"] == DeviceMeasurement.KIND:
            lines += ["", visible_line(record["test"]), *str(from_record(DeviceMeasurement, record)).splitlines()]
    lines += _verdicts(records)
    return lines


def _row(record: dict[str, Any], instructions: str | None) -> tuple[str, ...]:
    taken = from_record(Measurement, record)
    low, high = taken.interval
    digits = max(taken.significant_figures, 2)
    return (
        record["task_spec"]["sub_label"],
        format_seconds(taken.median, digits),
        f"{format_seconds(low, digits)} … {format_seconds(high, digits)}" if len(taken.times) > 1 else "",
        format_seconds(taken.minimum, digits),
        f"{len(taken.times)} × {taken.number_per_run}",
        instructions or "",
        ", ".join(dict.fromkeys(warning.kind.value for warning in taken.warnings)),
    )


def _instructions(records: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return the instructions per run of each test that was counted."""
    counted = [record for record in records if record["kind"] == InstructionCounts.KIND]
    return {
        record["test"]: f"{from_record(InstructionCounts, record).outside_allocator_per_run:,.0f}" for record in counted
    }


def profile_lines(records: Sequence[dict[str, Any]], column: str | None, most: int | None, width: int) -> list[str]:
    """Return the top functions of each profiled test, by a column of cProfile's."""
    lines: list[str] = []
    column = column or DEFAULT_COLUMN
    for record in records:
        rows = (record.get("metadata") or {}).get(PROFILE)
        if rows:
            cells = [_profiled(row) for row in top_rows(rows, column, most or DEFAULT_TOP)]
            lines += ["", f"{visible_line(record['test'])}: cProfile by {column}"]
            lines += [INDENT + line for line in text_columns(PROFILE_HEADS, cells, width - len(INDENT))]
    return lines


def _profiled(row: dict[str, Any]) -> tuple[str, ...]:
    seconds = [format_seconds(row[name], 3) for name in ("tottime", "tottime_per", "cumtime", "cumtime_per")]
    return (row["function_name"], row["ncalls_recursion"], *seconds)


def _verdicts(records: Sequence[dict[str, Any]]) -> Iterator[str]:
    from photometer.analysis.ranking import Ranking

    for record in records:
        if record["kind"] != Ranking.KIND:
            continue
        ranking = from_record(Ranking, record)
        yield ""
        yield visible_line(record["test"])
        for pair in ranking.pairs:
            verdict = pair.verdict
            change = duration(verdict.difference_seconds, signed=True) if verdict.replicates else ""
            yield f"{INDENT}{visible_line(pair.second)} against {visible_line(pair.first)}: {verdict.verdict} {change}"
            yield f"{INDENT}{INDENT}{visible_line(verdict.reason)}"
