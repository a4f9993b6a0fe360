"""Own metrics, the phases of training steps, and the sentences of sweeps, as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from photometer.analysis.curves import CurveSet
from photometer.analysis.order_facts import OrderFacts
from photometer.model.order_name import label_text
from photometer.model.run_figures import MetricValues
from photometer.model.units import format_number, percent
from photometer.model.visible_text import visible_line
from photometer.report.tables.as_text import render_text
from photometer.report.tables.table import STAYS, Cell, Column, Kind, Table, Value, row_of, table_of

NAME = Column("benchmark", "benchmark", Kind.NAME)


def table_of_metrics(facts: Sequence[OrderFacts]) -> Table:
    """Return one row per order with its metrics: the value, or the first and the last of several runs."""
    found = [(each.title, each.metrics.metrics) for each in facts if each.metrics is not None]
    names = list(dict.fromkeys(metric.name for _, metrics in found for metric in metrics))
    columns = [NAME, *(Column(f"metric_{name}", name, Kind.NUMBER) for name in names)]
    rows = [
        row_of(
            {
                "benchmark": title,
                **{f"metric_{metric.name}": Cell(metric.values[-1], metric_text(metric)) for metric in metrics},
            }
        )
        for title, metrics in found
    ]
    return table_of(columns, rows, title="Metrics")


def metric_text(metric: MetricValues) -> str:
    """Return the value; for one that changes from run to run, the first and the last."""
    first, last = metric.values[0], metric.values[-1]
    if min(metric.values) == max(metric.values):
        return format_number(first)
    return f"{format_number(first)} to {format_number(last)}"


def table_of_phases(facts: Sequence[OrderFacts]) -> Table:
    """Return one row per step: the median of each phase, with its share of all of them."""
    known = [(each.title, each.phases.phases) for each in facts if each.phases is not None]
    names = list(dict.fromkeys(phase.name for _, phases in known for phase in phases))
    columns = [NAME, *(Column(f"phase_{name}", name, Kind.TIME) for name in names)]
    columns.append(Column("together", "together", Kind.TIME, priority=STAYS))
    rows = []
    for title, phases in known:
        whole = sum(phase.median for phase in phases)
        cells: dict[str, Cell | Value] = {
            f"phase_{phase.name}": Cell(phase.median, after=f" {percent(phase.median / (whole or 1.0)):>5}")
            for phase in phases
        }
        rows.append(row_of({"benchmark": title, **cells, "together": whole}))
    return table_of(columns, rows, title="Phases of a step")


def render_observed(facts: Sequence[OrderFacts], width: int) -> str:
    """Return phases and metrics for a terminal, if there are any."""
    tables = (table_of_phases(facts), table_of_metrics(facts))
    return "".join(f"\n{render_text(table, width)}" for table in tables if table.rows)


def render_curves(sets: Sequence[CurveSet]) -> str:
    """Return the findings of the sweeps, in sentences: where a variant becomes faster, and how each grows."""
    lines = []
    for each in sets:
        if each.sentences:
            lines += ["", visible_line(f"{label_text(each.label)}, over {each.axis}:")]
            lines += [f"  {visible_line(sentence)}" for sentence in each.sentences]
    return "\n".join(lines) + "\n" if lines else ""
