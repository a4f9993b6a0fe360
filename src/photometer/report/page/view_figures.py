"""The page's figures besides times and counts: curves of sweeps, rooflines, and tables of rates, phases and metrics.

In: the records of one results file. Out: a FiguresView of plain frozen values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from photometer.analysis.comparison_result import ComparisonResult
from photometer.analysis.curves import curve_sets
from photometer.analysis.declared_figures import kinds_with_table
from photometer.analysis.metric_change import MetricChange
from photometer.analysis.order_facts import collect_facts
from photometer.analysis.rates import peaks_in, rates_of
from photometer.analysis.sweep_summary import JudgedPoint, summaries
from photometer.model.order_name import name_of_record
from photometer.model.records import from_record
from photometer.model.run_figures import EnergyOfRun, MachinePeak, ObservedMetrics, PhaseTimes, WorkOfRun
from photometer.report.instrument_tables import instrument_tables
from photometer.report.observed_text import table_of_metrics, table_of_phases
from photometer.report.page.figure import LineFigure, curve_figures, roofline_figures
from photometer.report.page.record_identity import identity_of
from photometer.report.page.view_compiled import KINDS as COMPILED_KINDS, compile_table, memory_table
from photometer.report.rates_text import table_of_energy, table_of_rates
from photometer.report.tables.table import Table

FIGURE_KINDS = (
    WorkOfRun.KIND,
    MachinePeak.KIND,
    ObservedMetrics.KIND,
    PhaseTimes.KIND,
    EnergyOfRun.KIND,
    *COMPILED_KINDS,
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
    ids = {str(r["order"].get("id")): identity_of(r, source).id for r in records if isinstance(r.get("order"), Mapping)}
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
