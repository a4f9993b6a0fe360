"""Tables of what instruments measured beside times and counts, made from their declarations: a row per order.

In: MeasuredFigures. Out: Tables, which every format shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from photometer.analysis.declared_figures import MeasuredFigures, measured_figures
from photometer.instruments.declaration import Figure
from photometer.report.tables.table import Column, Kind, Table, row_of, table_of

# More of them say no more; the rows have the figures.
MOST_REMARKS = 3
# How figures of a unit are written; all others are plain counts or numbers.
_KINDS = {"s": Kind.TIME, "bytes": Kind.BYTES, "×": Kind.RATIO, "share": Kind.SHARE, "B/s": Kind.AMOUNT}


def instrument_tables(records: Iterable[Mapping[str, Any]]) -> list[Table]:
    """Return a table for each instrument that has one of its own, and records."""
    return [_table(measured) for measured in measured_figures(records)]


def _table(measured: MeasuredFigures) -> Table:
    instrument = measured.instrument
    columns = [Column("benchmark", "", Kind.NAME), *(_column(figure) for figure in instrument.figures)]
    rows = [
        row_of({"benchmark": order.facts.title, **{each.figure.name: each.value for each in order.values}})
        for order in measured.orders
    ]
    remarks = [f"{order.facts.title}: {order.remark}." for order in measured.orders if order.remark]
    more = len(remarks) - MOST_REMARKS
    shown = [*remarks[:MOST_REMARKS], *([f"{more} more have remarks of this kind."] if more > 0 else [])]
    return table_of(columns, rows, title=instrument.title, notes=[*shown, *instrument.notes])


def _column(figure: Figure) -> Column:
    kind = _KINDS.get(figure.unit, Kind.COUNT if figure.exact else Kind.NUMBER)
    unit = figure.unit if kind is Kind.AMOUNT else ""
    return Column(figure.name, figure.head or figure.name, kind, unit=unit, meaning=figure.meaning)
