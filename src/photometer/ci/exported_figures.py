"""ExportedFigure: one number of one benchmark, for a service that keeps results of many commits.

In: a results file, or a comparison. Out: figures in plain units, each with a name that stays the same from run to run.
The formats of the services are made from them, one file each; export_formats.py lists them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from photometer.analysis.comparison_reader import read_comparison
from photometer.analysis.comparison_result import ComparisonResult, EnvironmentComparison
from photometer.analysis.order_facts import OrderFacts, collect_facts
from photometer.errors import MeasurementError, ResultsFileError
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.machine import Machine
from photometer.model.measurement import Measurement
from photometer.model.memory_measurement import MemoryMeasurement
from photometer.model.order_name import LABEL_SEPARATOR, OrderName, order_id_of, split_title
from photometer.model.records import from_record
from photometer.model.results_reader import Results
from photometer.model.visible_text import visible_line

LATENCY = "latency"
INSTRUCTIONS = "instructions"
PEAK_MEMORY = "peak-memory"
# A side or a suite that has no name of its own.
UNNAMED_SUITE = "photometer"


@dataclasses.dataclass(frozen=True)
class ExportedFigure:
    """`value` is in `unit` ("s", "instructions", "B", or "" for an author's own metric), with its interval if known."""

    suite: str
    # One line, without characters that control a terminal.
    title: str
    name: OrderName
    measure: str
    value: float
    unit: str
    low: float | None = None
    high: float | None = None
    # What else is known of it, in words: the verdict of a comparison.
    remark: str = ""
    machine: Machine | None = None

    @property
    def is_worse_if_more(self) -> bool:
        """Whether a larger value is known to be worse; it is not for an author's own metric."""
        return bool(self.unit)


def figures_of_results(loaded: Iterable[Results], only: Collection[str] | None = None) -> list[ExportedFigure]:
    """Return the figures of files: runs, comparisons, single measurements; `only` those of orders with these ids."""
    found: list[ExportedFigure] = []
    for results in loaded:
        comparison = read_comparison(results)
        if comparison is not None:
            found += figures_of_comparison(comparison, results.machine)
            continue
        found += _of_orders(results, only)
        found += _of_measurements(results)
    if not found:
        raise ResultsFileError("there are no figures to export", remedy="Measure something first: photometer run.")
    return _with_suite_names(found)


def figures_of_comparison(comparison: EnvironmentComparison, machine: Machine | None = None) -> list[ExportedFigure]:
    """Return the figures of the sides that are compared with the reference: the branch's, if there are two."""
    return [
        dataclasses.replace(figure, suite=comparison.suite or UNNAMED_SUITE, machine=machine)
        for result in comparison.titled_by_side().results
        for figure in _of_result(result)
        if math.isfinite(figure.value)
    ]


def _of_result(result: ComparisonResult) -> Iterator[ExportedFigure]:
    label, words = split_title(result.title)
    sizes = [word.partition("=") for word in words]
    name = OrderName(label, sizes=tuple((size, value) for size, equals, value in sizes if equals))
    title = visible_line(result.title)
    said = f"{result.verdict} than the reference" if result.verdict in ("slower", "faster") else str(result.verdict)
    judged = result.judged
    if judged.replicates:
        seconds = judged.base_seconds + result.difference_seconds
        low, high = (judged.base_seconds * ratio for ratio in result.interval)
        yield ExportedFigure("", title, name, LATENCY, seconds, "s", low, high, remark=said)
    if result.instructions is not None:
        yield ExportedFigure(
            "", title, name, INSTRUCTIONS, result.instructions.branch_per_run, INSTRUCTIONS, remark=said
        )
    if result.memory is not None:
        yield ExportedFigure("", title, name, PEAK_MEMORY, result.memory.branch.peak_bytes, "B", remark=said)


def _of_orders(results: Results, only: Collection[str] | None) -> Iterator[ExportedFigure]:
    about = results.header.get("run")
    suite = str(about.get("suite") or UNNAMED_SUITE) if isinstance(about, Mapping) else UNNAMED_SUITE
    counted = _by_order(results, InstructionCounts.KIND)
    memory = _by_order(results, MemoryMeasurement.KIND)
    for facts in collect_facts(results.records_by_suite):
        if only is not None and facts.id not in only:
            continue
        for measure, value, unit, low, high in _figures(facts, counted.get(facts.id), memory.get(facts.id)):
            if math.isfinite(value):
                title = visible_line(facts.title)
                yield ExportedFigure(suite, title, facts, measure, value, unit, low, high, machine=results.machine)


def _by_order(results: Results, kind: str) -> dict[str, Mapping[str, Any]]:
    return {
        order_id_of(record): record
        for record in results.records
        if record["kind"] == kind and isinstance(record.get("order"), Mapping)
    }


def _figures(
    facts: OrderFacts, counted: Mapping[str, Any] | None, memory: Mapping[str, Any] | None
) -> Iterator[tuple[str, float, str, float | None, float | None]]:
    if facts.seconds is not None:
        yield LATENCY, facts.seconds, "s", facts.low, facts.high
    if counted is not None:
        count = from_record(InstructionCounts, counted).outside_allocator_per_run
        yield INSTRUCTIONS, count, INSTRUCTIONS, None, None
    if memory is not None:
        yield PEAK_MEMORY, from_record(MemoryMeasurement, memory).host.peak_bytes, "B", None, None
    for metric in () if facts.metrics is None else facts.metrics.metrics:
        yield metric.name, metric.median, "", None, None


def _of_measurements(results: Results) -> Iterator[ExportedFigure]:
    """Yield single measurements, of `photometer time` and of scripts: they belong to no order."""
    for record in results.records:
        if record["kind"] != Measurement.KIND or isinstance(record.get("order"), Mapping):
            continue
        measurement = from_record(Measurement, record)
        try:
            low, high = measurement.interval_seconds
        except MeasurementError:
            # It was interrupted before its first block.
            continue
        label = tuple(part for part in (measurement.title, measurement.env) if part)
        name = OrderName(label, num_threads=measurement.num_threads)
        title = visible_line(name.title)
        yield ExportedFigure(
            UNNAMED_SUITE, title, name, LATENCY, measurement.seconds, "s", low, high, machine=results.machine
        )


def _with_suite_names(figures: list[ExportedFigure]) -> list[ExportedFigure]:
    """Return the figures with the suite before the title, if there are several suites."""
    if len({figure.suite for figure in figures}) == 1:
        return figures
    return [
        dataclasses.replace(each, title=f"{visible_line(each.suite)}{LABEL_SEPARATOR}{each.title}") for each in figures
    ]
