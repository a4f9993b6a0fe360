"""The page's figures besides times and counts: curves of sweeps, rooflines, and tables of rates, phases and metrics.

In: the records of one results file. Out: a FiguresView of plain frozen values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from photometer.analysis.comparison_result import ComparisonResult
from photometer.analysis.curves import curve_sets
from photometer.analysis.declared_figures import kinds_with_table
from photometer.analysis.figure_change import MetricChange
from photometer.analysis.order_facts import collect_facts
from photometer.analysis.rates import peaks_in, rates_of
from photometer.analysis.sweep_summary import JudgedPoint, summaries
from photometer.instruments.speedup import Speedup
from photometer.model.compile_report import CompileReport
from photometer.model.measurement import Measurement
from photometer.model.memory_measurement import MemoryMeasurement
from photometer.model.order_name import name_of_record, order_id_of, title_text
from photometer.model.records import from_record
from photometer.model.run_figures import EnergyOfRun, MachinePeak, ObservedMetrics, PhaseTimes, WorkOfRun
from photometer.report.figures_text import (
    instrument_tables,
    table_of_energy,
    table_of_memories,
    table_of_metrics,
    table_of_phases,
    table_of_rates,
)
from photometer.report.page.figure import LineFigure, curve_figures, roofline_figures
from photometer.report.page.record_identity import identity_of
from photometer.report.runtime_text import speedup_text
from photometer.report.tables.table import Cell, Column, Kind, Table, row_of, table_of

FIGURE_KINDS = (
    WorkOfRun.KIND,
    MachinePeak.KIND,
    ObservedMetrics.KIND,
    PhaseTimes.KIND,
    EnergyOfRun.KIND,
    CompileReport.KIND,
    Speedup.KIND,
    MemoryMeasurement.KIND,
    *kinds_with_table(),
)


@dataclasses.dataclass(frozen=True)
class FiguresView:
    curves: tuple[LineFigure, ...] = ()
    rooflines: tuple[LineFigure, ...] = ()
    tables: tuple[Table, ...] = ()
    # Of a comparison: each sweep and each own metric in one line.
    compared: tuple[str, ...] = ()


NO_FIGURES = FiguresView()


def figures_view(records: Sequence[Mapping[str, Any]], source: str = "") -> FiguresView:
    facts, peaks = collect_facts(records), peaks_in(records)
    rates = rates_of(facts, peaks)
    ids = {order_id_of(r): identity_of(r, source).id for r in records if isinstance(r.get("order"), Mapping)}
    tables = (
        compile_table(records),
        memory_table(records),
        *instrument_tables(records),
        table_of_rates(rates, peaks),
        table_of_phases(facts),
        table_of_metrics(facts),
        table_of_energy(facts),
    )
    return FiguresView(
        tuple(curve_figures(curve_sets(facts), ids)),
        tuple(roofline_figures(rates, peaks, ids)),
        tuple(table for table in tables if table.rows),
        compared_lines(records),
    )


def compared_lines(records: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return a comparison's results for sweeps and metrics, as sentences."""
    judged = []
    for record in records:
        if record["kind"] == ComparisonResult.KIND and isinstance(record.get("order"), Mapping):
            result = from_record(ComparisonResult, record)
            name = name_of_record(record["order"])
            judged.append((name.sweep_title, JudgedPoint(name.sizes, result.verdict, result.ratio)))
    metrics = [from_record(MetricChange, record) for record in records if record["kind"] == MetricChange.KIND]
    return (*(each.sentence for each in summaries(judged)), *(each.sentence for each in metrics))


def joined_figures(views: Sequence[FiguresView]) -> FiguresView:
    """Return the figures of several files, each with a name of its own."""
    return FiguresView(
        _renamed("curve", [figure for view in views for figure in view.curves]),
        _renamed("roofline", [figure for view in views for figure in view.rooflines]),
        tuple(table for view in views for table in view.tables),
        tuple(line for view in views for line in view.compared),
    )


def _renamed(stem: str, figures: Iterable[LineFigure]) -> tuple[LineFigure, ...]:
    return tuple(dataclasses.replace(each, name=f"{stem}-{number}") for number, each in enumerate(figures, start=1))


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
    seconds = {order_id_of(r): from_record(Measurement, r).seconds for r in records if r["kind"] == Measurement.KIND}
    found = [from_record(Speedup, record) for record in records if record["kind"] == Speedup.KIND]
    speedups = {speedup.order_id: speedup for speedup in found}
    rows, notes = [], []
    for record in records:
        if record["kind"] != CompileReport.KIND:
            continue
        report, order_id, title = from_record(CompileReport, record), order_id_of(record), _title(record)
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


def _title(record: Mapping[str, Any]) -> str:
    identity = identity_of(record)
    words = [word for word in identity.words if word not in ("python", "eager", "forward", "1 thread")]
    return title_text(identity.path, words)
