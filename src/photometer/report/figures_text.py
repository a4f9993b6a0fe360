"""Figures of a run besides times and counts, as tables and as text: a row per statement or benchmark.

Rates and energy with the share of the machine's peak; own metrics, the phases of training steps and the sentences of
sweeps; times of the ranks of a group; allocations; and what instruments declare. In: the figures. Out: Tables, which
every format shows, and text for a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from photometer.analysis.curves import CurveSet
from photometer.analysis.declared_figures import MeasuredFigures, measured_figures
from photometer.analysis.figure_change import memory_change
from photometer.analysis.order_facts import OrderFacts
from photometer.analysis.rates import Rate
from photometer.instruments.declaration import Figure
from photometer.model.memory_measurement import MemoryMeasurement
from photometer.model.order_name import label_text
from photometer.model.run_figures import MachinePeak, MetricValues, RankTimes
from photometer.model.units import format_amount, format_number, percent
from photometer.model.visible_text import visible_line
from photometer.report.tables.as_text import render_text
from photometer.report.tables.table import STAYS, Cell, Column, Kind, Row, Table, Value, row_of, table_of

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


# More of them say no more; the rows have the figures.
MOST_REMARKS = 3
# How figures of a unit are written; all others are plain counts or numbers.
_KINDS = {"s": Kind.TIME, "bytes": Kind.BYTES, "×": Kind.RATIO, "share": Kind.SHARE, "B/s": Kind.AMOUNT}


def instrument_tables(records: Iterable[Mapping[str, Any]]) -> list[Table]:
    """Return a table for each instrument that has one of its own, and records."""
    return [_instrument_table(measured) for measured in measured_figures(records)]


def _instrument_table(measured: MeasuredFigures) -> Table:
    instrument = measured.instrument
    columns = [Column("benchmark", "", Kind.NAME), *(_figure_column(figure) for figure in instrument.figures)]
    rows = [
        row_of({"benchmark": order.facts.title, **{each.figure.name: each.value for each in order.values}})
        for order in measured.orders
    ]
    remarks = [f"{order.facts.title}: {order.remark}." for order in measured.orders if order.remark]
    more = len(remarks) - MOST_REMARKS
    shown = [*remarks[:MOST_REMARKS], *([f"{more} more have remarks of this kind."] if more > 0 else [])]
    return table_of(columns, rows, title=instrument.title, notes=[*shown, *instrument.notes])


def _figure_column(figure: Figure) -> Column:
    kind = _KINDS.get(figure.unit, Kind.COUNT if figure.exact else Kind.NUMBER)
    unit = figure.unit if kind is Kind.AMOUNT else ""
    return Column(figure.name, figure.head or figure.name, kind, unit=unit, meaning=figure.meaning)


BENCHMARK_COLUMN = Column("benchmark", "benchmark", Kind.NAME)


def table_of_metrics(facts: Sequence[OrderFacts]) -> Table:
    """Return one row per order with its metrics: the value, or the first and the last of several runs."""
    found = [(each.title, each.metrics.metrics) for each in facts if each.metrics is not None]
    names = list(dict.fromkeys(metric.name for _, metrics in found for metric in metrics))
    columns = [BENCHMARK_COLUMN, *(Column(f"metric_{name}", name, Kind.NUMBER) for name in names)]
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
    columns = [BENCHMARK_COLUMN, *(Column(f"phase_{name}", name, Kind.TIME) for name in names)]
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


ALL_RANKS = "all"
RANK_COLUMNS = (
    Column("benchmark", "statement", Kind.NAME),
    Column("rank", "rank", Kind.WORDS, priority=STAYS),
    Column("seconds", "per run", Kind.TIME, priority=STAYS),
    Column("spread", "spread", Kind.SHARE, meaning="by how much the slowest rank is slower than the fastest"),
)
RANKS_NOTE = "A block begins when all ranks have reached it; the time of all is that of the slowest."


def table_of_ranks(measured: Sequence[RankTimes]) -> Table:
    """Return the times of each group: of all ranks, then of each."""
    return table_of(RANK_COLUMNS, [row for times in measured for row in _rank_rows(times)], notes=[RANKS_NOTE])


def render_ranks(measured: Sequence[RankTimes], width: int) -> str:
    return render_text(table_of_ranks(measured), width)


def _rank_rows(times: RankTimes) -> list[Row]:
    spec = times.task_spec
    name = " ".join(part for part in (spec.description or spec.stmt, spec.sub_label) if part)
    each = [
        row_of({"benchmark": "", "rank": str(rank), "seconds": seconds}) for rank, seconds in enumerate(times.by_rank)
    ]
    return [row_of({"benchmark": name, "rank": ALL_RANKS, "seconds": times.slowest, "spread": times.spread}), *each]


MEMORY_COLUMNS = (
    Column("benchmark", "memory of one run", Kind.NAME),
    Column("peak_bytes", "peak", Kind.BYTES, priority=STAYS),
    Column("allocated_bytes", "allocates", Kind.BYTES),
    Column("allocations", "blocks", Kind.COUNT),
    Column("kept_bytes", "keeps", Kind.BYTES, priority=STAYS, meaning="more after each run"),
    Column("reserved_bytes", "reserved", Kind.BYTES, priority=2, meaning="by the accelerator's allocator"),
    Column("process_bytes", "process", Kind.BYTES, priority=3, meaning="how much it grew, in whole pages"),
)
UNSTEADY = "Its allocations differ from run to run: the most frequent figures are shown."


def table_of_memories(named: Sequence[tuple[str, MemoryMeasurement]]) -> Table:
    """Return a row per measurement. On an accelerator the figures are its own allocator's."""
    notes = [f"{name}: {UNSTEADY}" for name, memory in named if not memory.is_exact]
    return table_of(MEMORY_COLUMNS, [_memory_row(name, memory) for name, memory in named], notes=notes)


def render_memories(memories: Sequence[MemoryMeasurement], width: int) -> str:
    """Return the table for a terminal."""
    return render_text(table_of_memories([(name_of(memory), memory) for memory in memories]), width)


def render_memory_differences(memories: Sequence[MemoryMeasurement]) -> str:
    """Return a line for each statement after the first: how much more or less it allocates."""
    first, *others = memories
    lines = []
    for other in others:
        change = memory_change(first, other)
        words = change.sentence or "allocates exactly as much as the first"
        lines.append(visible_line(f"{name_of(other)}: {words}"))
    return "".join(f"{line}\n" for line in lines)


def name_of(memory: MemoryMeasurement) -> str:
    """Return the name of a row: the statement's name or text, and its sizes."""
    spec = memory.task_spec
    return " ".join(part for part in (spec.description or spec.stmt, spec.sub_label) if part)


def _memory_row(name: str, memory: MemoryMeasurement) -> Row:
    figures = memory.main
    reserved = memory.device_reserved_bytes
    return row_of(
        {
            "benchmark": name,
            "peak_bytes": figures.peak_bytes,
            "allocated_bytes": figures.allocated_bytes,
            "allocations": figures.allocations,
            "kept_bytes": figures.kept_bytes or None,
            "reserved_bytes": None if reserved is None else Cell(reserved, after=f" on {memory.device}"),
            "process_bytes": memory.process_peak_bytes,
        }
    )
