"""A run as one row per variant: label, variant, a column per size, time, rates, phases, metrics and energy.

In: the records of a results file. Out: rows of plain values, for CSV and DataFrames. An unknown value is None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from photometer.analysis.declared_figures import by_order
from photometer.analysis.order_facts import OrderFacts, collect_facts
from photometer.analysis.rates import Rate, peaks_in, rates_of
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.order_name import label_text
from photometer.model.records import from_record

Row = dict[str, Any]
FIRST_COLUMNS = ("benchmark", "language", "runtime", "autograd", "num_threads", "device")


def variant_rows(records: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return the rows, all with the same columns: first sizes, then seconds, then all other figures."""
    facts = collect_facts(records)
    rates = {rate.facts.id: rate for rate in rates_of(facts, peaks_in(records))}
    counts = _instructions(records)
    figures = by_order(records)
    found = [{**_row(each, rates.get(each.id), counts.get(each.id)), **figures.get(each.id, {})} for each in facts]
    sizes = list(dict.fromkeys(name for each in facts for name, _ in each.sizes))
    others = list(dict.fromkeys(name for row in found for name in row if name not in (*FIRST_COLUMNS, *sizes)))
    return [{name: row.get(name) for name in (*FIRST_COLUMNS, *sizes, *others)} for row in found]


def _instructions(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    return {
        str(record["order"].get("id")): from_record(InstructionCounts, record).outside_allocator_per_run
        for record in records
        if record["kind"] == InstructionCounts.KIND and isinstance(record.get("order"), Mapping)
    }


def _row(facts: OrderFacts, rate: Rate | None, instructions: float | None) -> Row:
    row: Row = {
        "benchmark": label_text(facts.label),
        "language": facts.language,
        "runtime": " ".join((facts.runtime, *facts.compile_words)),
        "autograd": facts.autograd,
        "num_threads": facts.num_threads,
        "device": facts.device,
    }
    row |= {name: str(value) if isinstance(value, tuple) else value for name, value in facts.sizes}
    row |= {"seconds": facts.seconds, "low_seconds": facts.low, "high_seconds": facts.high}
    row |= {} if instructions is None else {"instructions": instructions}
    if rate is not None:
        row |= {
            "flops": rate.work.flops,
            "bytes": rate.work.bytes,
            "flops_per_second": rate.flops_per_second,
            "bytes_per_second": rate.bytes_per_second,
            "share_of_peak": rate.share_of_peak,
            "bound": rate.bound,
        }
    if facts.phases is not None:
        row |= {f"{phase.name}_seconds": phase.median for phase in facts.phases.phases}
    if facts.metrics is not None:
        row |= {metric.name: metric.median for metric in facts.metrics.metrics}
    if facts.energy is not None:
        row["joules"] = facts.energy.joules_per_run
    return row
