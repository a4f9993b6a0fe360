"""Rates and energy of a run as text: GFLOP/s, GB/s, the share of the machine's peak, joules per run."""

from __future__ import annotations

from collections.abc import Sequence

from photometer.analysis.order_facts import OrderFacts
from photometer.analysis.rates import Rate
from photometer.model.run_figures import MachinePeak
from photometer.model.units import format_amount
from photometer.report.tables.as_text import render_text
from photometer.report.tables.table import STAYS, Cell, Column, Kind, Row, Table, row_of, table_of

DERIVED = "~"
RATE_COLUMNS = (
    Column("benchmark", "benchmark", Kind.NAME),
    Column("flops", "FLOPs", Kind.AMOUNT, priority=2),
    Column("flops_per_second", "rate of FLOPs", Kind.AMOUNT, unit="FLOP/s"),
    Column("bytes", "bytes", Kind.AMOUNT, unit="B", priority=2),
    Column("bytes_per_second", "rate of bytes", Kind.AMOUNT, unit="B/s"),
    Column("share_of_peak", "of the peak", Kind.SHARE, priority=STAYS),
    Column("bound", "bound", Kind.WORDS),
)
ENERGY_COLUMNS = (
    Column("benchmark", "benchmark", Kind.NAME),
    Column("joules", "per run", Kind.AMOUNT, unit="J", priority=STAYS),
    Column(
        "resolution_joules", "resolution", Kind.AMOUNT, unit="J", meaning="uncertainty from the counter's step size"
    ),
    Column("watts", "drawn", Kind.COUNT, unit="W"),
    Column("idle_watts", "idle", Kind.COUNT, unit="W", priority=2),
)


def table_of_rates(rates: Sequence[Rate], peaks: Sequence[MachinePeak]) -> Table:
    """Return the rates of each benchmark, and the peak that they are compared with."""
    notes = [f"Peak: {peak_text(peak)}." for peak in peaks]
    if any(rate.is_derived for rate in rates):
        notes.append(f"{DERIVED} counted in one run: FLOPs by torch's counter, bytes of inputs and outputs.")
    beyond = {rate.bound for rate in rates if (rate.share_of_peak or 0.0) > 1.0}
    if "memory" in beyond:
        notes.append("More than 100 %: the data came from a cache, which is faster than the memory that was measured.")
    if "compute" in beyond:
        notes.append(
            "More than 100 %: the peak was measured on a busy machine; `photometer doctor --peaks --again` repeats it."
        )
    return table_of(RATE_COLUMNS, [_rate_row(rate) for rate in rates], title="Rates", notes=notes)


def render_rates(rates: Sequence[Rate], peaks: Sequence[MachinePeak], width: int) -> str:
    """Return the table for a terminal; nothing if there are none."""
    return f"\n{render_text(table_of_rates(rates, peaks), width)}" if rates else ""


def _rate_row(rate: Rate) -> Row:
    work = rate.work
    return row_of(
        {
            "benchmark": rate.facts.title,
            "flops": Cell(work.flops, before="" if work.flops_given else DERIVED),
            "flops_per_second": rate.flops_per_second,
            "bytes": Cell(work.bytes, before="" if work.bytes_given else DERIVED),
            "bytes_per_second": rate.bytes_per_second,
            "share_of_peak": rate.share_of_peak,
            "bound": rate.bound,
        }
    )


def peak_text(peak: MachinePeak) -> str:
    """Return `cpu, 1 thread, float32: 48.2 GFLOP/s, 9.81 GB/s (AMD EPYC, 2 cores; 2026-01-31)`."""
    threads = "" if peak.device != "cpu" else f", {peak.num_threads} thread{'' if peak.num_threads == 1 else 's'}"
    rates = f"{format_amount(peak.flops_per_second, 'FLOP/s')}, {format_amount(peak.bytes_per_second, 'B/s')}"
    return f"{peak.device}{threads}, {peak.dtype}: {rates} ({'; '.join(x for x in (peak.machine, peak.date) if x)})"


def table_of_energy(facts: Sequence[OrderFacts]) -> Table:
    """Return joules per run with their uncertainty from the counter's step size, and the power drawn."""
    rows = [
        row_of(
            {
                "benchmark": each.title,
                "joules": each.energy.joules_per_run,
                "resolution_joules": Cell(each.energy.resolution_joules, before="± "),
                "watts": each.energy.watts,
                "idle_watts": each.energy.idle_watts,
            }
        )
        for each in facts
        if each.energy is not None
    ]
    return table_of(ENERGY_COLUMNS, rows, title="Energy")


def render_energy(facts: Sequence[OrderFacts], width: int) -> str:
    """Return the table for a terminal; nothing if no energy was measured."""
    table = table_of_energy(facts)
    return f"\n{render_text(table, width)}" if table.rows else ""
