"""What the page shows beside times and counts: curves of sweeps, rooflines, and tables of rates, phases and metrics.

In: the records of one results file. Out: a FiguresView of plain frozen values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from photometer.analysis.comparison_result import ComparisonResult
from photometer.analysis.curves import curve_sets
from photometer.analysis.metric_change import MetricChange
from photometer.analysis.order_facts import OrderFacts, collect_facts, facts_of_order
from photometer.analysis.rates import Rate, peaks_in, rates_of
from photometer.analysis.sweep_summary import JudgedPoint, summaries
from photometer.model.energy import EnergyOfRun
from photometer.model.observed_run import ObservedMetrics, PhaseTimes
from photometer.model.records import from_record
from photometer.model.units import format_seconds
from photometer.model.work_of_run import MachinePeak, WorkOfRun
from photometer.report.observed_text import metric_text
from photometer.report.page.figure import LineFigure
from photometer.report.page.figure_table import FigureTable
from photometer.report.page.line_figure import curve_figures, roofline_figures
from photometer.report.page.record_identity import identity_of
from photometer.report.page.view_compiled import KINDS as COMPILED_KINDS, compile_table, memory_table
from photometer.report.rates_text import peak_text, rate_cells, with_prefix

FIGURE_KINDS = (
    WorkOfRun.KIND,
    MachinePeak.KIND,
    ObservedMetrics.KIND,
    PhaseTimes.KIND,
    EnergyOfRun.KIND,
    *COMPILED_KINDS,
)


@dataclasses.dataclass(frozen=True)
class FiguresView:
    curves: tuple[LineFigure, ...] = ()
    rooflines: tuple[LineFigure, ...] = ()
    tables: tuple[FigureTable, ...] = ()
    # Of a comparison: each sweep and each own metric in one line.
    compared: tuple[str, ...] = ()


NO_FIGURES = FiguresView()


def figures_view(records: Sequence[Mapping[str, Any]], source: str = "") -> FiguresView:
    facts, peaks = collect_facts(records), peaks_in(records)
    rates = rates_of(facts, peaks)
    ids = {str(r["order"].get("id")): identity_of(r, source).id for r in records if isinstance(r.get("order"), Mapping)}
    tables = (
        compile_table(records),
        memory_table(records),
        _rates(rates, peaks),
        _phases(facts),
        _metrics(facts),
        _energy(facts),
    )
    return FiguresView(
        tuple(curve_figures(curve_sets(facts), ids)),
        tuple(roofline_figures(rates, peaks, ids)),
        tuple(table for table in tables if table.rows),
        compared_lines(records),
    )


def compared_lines(records: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return what a comparison says of sweeps and metrics, as sentences."""
    judged = []
    for record in records:
        if record["kind"] == ComparisonResult.KIND and isinstance(record.get("order"), Mapping):
            result = from_record(ComparisonResult, record)
            facts = facts_of_order(record["order"])
            name = " › ".join(facts.label) + (f" [{facts.variant}]" if facts.variant else "")
            judged.append((name, JudgedPoint(facts.sizes, result.verdict, result.ratio)))
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


def _rates(rates: Sequence[Rate], peaks: Sequence[MachinePeak]) -> FigureTable:
    heads = ("Benchmark", "FLOPs", "GFLOP/s", "Bytes", "GB/s", "Of the peak", "Bound")
    notes = [f"Peak: {peak_text(peak)}." for peak in peaks]
    if any(rate.is_derived for rate in rates):
        notes.append("~ counted in one run: FLOPs by torch's counter, bytes of inputs and outputs.")
    return FigureTable("Rates", heads, tuple(rate_cells(rate) for rate in rates), tuple(notes))


def _phases(facts: Sequence[OrderFacts]) -> FigureTable:
    known = [each for each in facts if each.phases is not None]
    names = list(dict.fromkeys(phase.name for each in known if each.phases for phase in each.phases.phases))
    rows = []
    for each in known:
        medians = {} if each.phases is None else {phase.name: phase.median for phase in each.phases.phases}
        cells = [format_seconds(medians[name], 3) if name in medians else "" for name in names]
        rows.append((each.title, *cells, format_seconds(sum(medians.values()), 3)))
    return FigureTable("Phases of a step", ("Benchmark", *names, "together"), tuple(rows))


def _metrics(facts: Sequence[OrderFacts]) -> FigureTable:
    known = [each for each in facts if each.metrics is not None]
    names = list(dict.fromkeys(metric.name for each in known if each.metrics for metric in each.metrics.metrics))
    rows = []
    for each in known:
        found = {} if each.metrics is None else {metric.name: metric_text(metric) for metric in each.metrics.metrics}
        rows.append((each.title, *(found.get(name, "") for name in names)))
    return FigureTable("Metrics", ("Benchmark", *names), tuple(rows))


def _energy(facts: Sequence[OrderFacts]) -> FigureTable:
    rows = tuple(
        (
            each.title,
            with_prefix(each.energy.joules_per_run, "J"),
            f"± {with_prefix(each.energy.resolution_joules, 'J')}",
            f"{each.energy.watts:.0f} W",
            f"{each.energy.idle_watts:.0f} W",
        )
        for each in facts
        if each.energy is not None
    )
    return FigureTable("Energy", ("Benchmark", "Per run", "Resolution", "Drawn", "Idle"), rows)
