"""Tables of the page about torch.compile and memory: one row per benchmark, text only.

In: the records of one results file. Out: Tables; without such records they have no rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from photometer.analysis.speedup import Speedup
from photometer.model.compile_report import CompileReport
from photometer.model.measurement import Measurement
from photometer.model.memory_measurement import MemoryMeasurement
from photometer.model.order_name import title_text
from photometer.model.records import from_record
from photometer.report.memory_text import table_of_memories
from photometer.report.page.record_identity import identity_of
from photometer.report.runtime_text import speedup_text
from photometer.report.tables.table import Cell, Column, Kind, Table, row_of, table_of

KINDS = (CompileReport.KIND, Speedup.KIND, MemoryMeasurement.KIND)
COMPILE_COLUMNS = (
    Column("benchmark", "benchmark", Kind.NAME),
    Column("eager_seconds", "eager", Kind.TIME),
    Column("compiled_seconds", "compiled", Kind.TIME),
    Column("speedup", "speed-up", Kind.RATIO),
    Column("cold_seconds", "first call, cold", Kind.TIME),
    Column("warm_seconds", "warm", Kind.TIME),
    Column("graphs", "graphs", Kind.COUNT),
    Column("breaks", "breaks", Kind.COUNT),
    Column("recompilations", "recompiled", Kind.COUNT),
    Column("guard_seconds", "guards per call", Kind.TIME),
)


def compile_table(records: Sequence[Mapping[str, Any]]) -> Table:
    """Return compiled benchmarks with their speed-ups; graph breaks and recompilations are its notes."""
    seconds = {_order_id(r): from_record(Measurement, r).seconds for r in records if r["kind"] == Measurement.KIND}
    found = [from_record(Speedup, record) for record in records if record["kind"] == Speedup.KIND]
    speedups = {speedup.order_id: speedup for speedup in found}
    rows, notes = [], []
    for record in records:
        if record["kind"] != CompileReport.KIND:
            continue
        report, order_id, title = from_record(CompileReport, record), _order_id(record), _title(record)
        speedup = speedups.get(order_id)
        # Of the pairs, if there are any: both were then measured in the same moments.
        eager, compiled = (None, seconds.get(order_id)) if speedup is None else (speedup.eager_seconds, speedup.seconds)
        rows.append(
            row_of(
                {
                    "benchmark": title,
                    "eager_seconds": eager,
                    "compiled_seconds": compiled,
                    "speedup": None if speedup is None else Cell(speedup.speedup, speedup_text(speedup)),
                    "cold_seconds": report.compile_seconds,
                    "warm_seconds": report.warm_compile_seconds,
                    "graphs": report.graphs,
                    "breaks": report.break_count,
                    "recompilations": len(report.recompilations),
                    "guard_seconds": report.guard_seconds,
                }
            )
        )
        notes += [f"{title}: {line}" for line in _met(report)]
    return table_of(COMPILE_COLUMNS, rows, title="torch.compile", notes=notes)


def memory_table(records: Sequence[Mapping[str, Any]]) -> Table:
    """Return the memory of each benchmark."""
    named = [
        (_title(record), from_record(MemoryMeasurement, record))
        for record in records
        if record["kind"] == MemoryMeasurement.KIND
    ]
    notes = ("Growth during one run. Process: in whole pages, including what torch does not see.",)
    return dataclasses.replace(table_of_memories(named), title="Memory", notes=notes)


def _met(report: CompileReport) -> Iterator[str]:
    for each in report.breaks:
        place = f" at {each.place}" if each.place else f" at `{each.code}`" if each.code else ""
        yield f"graph break{place}: {each.reason}"
    for again in report.recompilations:
        yield f"recompiled {again.function}: {again.reason}"


def _order_id(record: Mapping[str, Any]) -> str:
    order = record.get("order")
    return str(order.get("id")) if isinstance(order, Mapping) else ""


def _title(record: Mapping[str, Any]) -> str:
    identity = identity_of(record)
    words = [word for word in identity.words if word not in ("python", "eager", "forward", "1 thread")]
    return title_text(identity.path, words)
