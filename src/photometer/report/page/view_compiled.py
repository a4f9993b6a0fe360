"""Tables of the page about torch.compile and memory: one row per benchmark, text only.

In: the records of one results file. Out: FigureTables; without such records they have no rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from photometer.analysis.speedup import Speedup
from photometer.model.compile_report import CompileReport
from photometer.model.measurement import Measurement
from photometer.model.memory_measurement import MemoryMeasurement, format_bytes
from photometer.model.records import from_record
from photometer.model.units import format_seconds
from photometer.report.page.figure_table import FigureTable
from photometer.report.page.record_identity import identity_of
from photometer.report.runtime_text import speedup_text

KINDS = (CompileReport.KIND, Speedup.KIND, MemoryMeasurement.KIND)
COMPILE_HEADS = (
    "Benchmark",
    "Eager",
    "Compiled",
    "Speed-up",
    "First call, cold",
    "Warm",
    "Graphs",
    "Breaks",
    "Recompiled",
    "Guards per call",
)
MEMORY_HEADS = ("Benchmark", "Peak", "Allocated", "Blocks", "Kept per run", "Reserved", "Process")


def compile_table(records: Sequence[Mapping[str, Any]]) -> FigureTable:
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
            (
                title,
                _seconds(eager),
                _seconds(compiled),
                "" if speedup is None else speedup_text(speedup),
                _seconds(report.compile_seconds),
                _seconds(report.warm_compile_seconds),
                str(report.graphs),
                str(report.break_count),
                str(len(report.recompilations)),
                _seconds(report.guard_seconds),
            )
        )
        notes += [f"{title}: {line}" for line in _met(report)]
    return FigureTable("torch.compile", COMPILE_HEADS, tuple(rows), tuple(notes))


def memory_table(records: Sequence[Mapping[str, Any]]) -> FigureTable:
    rows = []
    for record in records:
        if record["kind"] != MemoryMeasurement.KIND:
            continue
        memory = from_record(MemoryMeasurement, record)
        rows.append(
            (
                _title(record),
                format_bytes(memory.peak_bytes),
                format_bytes(memory.allocated_bytes),
                f"{memory.allocations:,}",
                format_bytes(memory.kept_bytes),
                "" if memory.device_reserved_bytes is None else format_bytes(memory.device_reserved_bytes),
                "" if memory.process_peak_bytes is None else format_bytes(memory.process_peak_bytes),
            )
        )
    notes = ("Of one run, above its start. Process: in whole pages, what torch does not see included.",)
    return FigureTable("Memory", MEMORY_HEADS, tuple(rows), notes if rows else ())


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
    return " › ".join(identity.path) + (f" [{', '.join(words)}]" if words else "")


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else format_seconds(seconds, 3)
