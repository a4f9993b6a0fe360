"""The figures of a run that instruments declare, as data: for each instrument its orders, their figures and remarks.

In: the records of a results file. Out: OrderFigureRows by instrument, in the order of the file. Tables, the page, CSV,
data frames and the history store read these, so that none of them knows an instrument by name.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from photometer.analysis.order_facts import OrderFacts, facts_of_order
from photometer.instruments.declaration import Figure, Instrument
from photometer.instruments.registry import BY_KIND, INSTRUMENTS
from photometer.model.records import from_record


@dataclasses.dataclass(frozen=True)
class FigureValue:
    """A figure of one record: the number, and the ends between which it lies."""

    figure: Figure
    value: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class MeasuredOrder:
    """The figures of one instrument for one order; `remark` is for readers of them."""

    facts: OrderFacts
    values: tuple[FigureValue, ...]
    remark: str = ""


@dataclasses.dataclass(frozen=True)
class MeasuredFigures:
    instrument: Instrument
    orders: tuple[MeasuredOrder, ...]


def has_table(instrument: Instrument) -> bool:
    """Return whether its figures are shown in a table of their own; those of others have a place already."""
    return bool(instrument.title)


def values_of(noun: Any) -> tuple[FigureValue, ...]:
    """Return the figures of a noun; none if no instrument makes such nouns."""
    instrument = BY_KIND.get(str(getattr(noun, "KIND", "")))
    if instrument is None:
        return ()
    found = []
    for figure in instrument.figures:
        value = figure.of(noun)
        if value is not None:
            found.append(FigureValue(figure, value, *figure.bounds(noun)))
    return tuple(found)


def measured_figures(records: Iterable[Mapping[str, Any]]) -> list[MeasuredFigures]:
    """Return what the instruments with a table of their own have measured; those without any record are left out."""
    found: dict[str, dict[str, MeasuredOrder]] = {}
    for record in records:
        instrument, order = BY_KIND.get(str(record["kind"])), record.get("order")
        if instrument is None or not has_table(instrument):
            continue
        if isinstance(order, Mapping) and isinstance(order.get("label"), Sequence):
            noun = from_record(instrument.record, record)
            measured = MeasuredOrder(facts_of_order(order), values_of(noun), instrument.remark(noun))
            found.setdefault(instrument.name, {})[measured.facts.id] = measured
    return [
        MeasuredFigures(instrument, tuple(found[instrument.name].values()))
        for instrument in INSTRUMENTS
        if instrument.name in found
    ]


def by_order(records: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the figures of each order by name, for one long row per order."""
    rows: dict[str, dict[str, float]] = {}
    for measured in measured_figures(records):
        for order in measured.orders:
            rows.setdefault(order.facts.id, {}).update({each.figure.name: each.value for each in order.values})
    return rows


@functools.cache
def kinds_with_table() -> tuple[str, ...]:
    return tuple(instrument.kind for instrument in INSTRUMENTS if has_table(instrument))
