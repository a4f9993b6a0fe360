"""RunTable: the results of a suite as data: one row per variant, with times and counts of Python and C++.

In: the plan and the records of its results file. Out: sections of rows in the order of the suite, and the failures.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from photometer.model.device_measurement import DeviceMeasurement
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.language import Language
from photometer.model.measurement import Measurement
from photometer.model.memory_measurement import MemoryFigures, MemoryMeasurement
from photometer.model.records import from_record
from photometer.model.results_reader import Results
from photometer.plan.auto_labels import LANGUAGE_NAMES
from photometer.plan.work_order import WorkOrder, WorkOrders

LANGUAGES = (LANGUAGE_NAMES[Language.PYTHON], LANGUAGE_NAMES[Language.CPP])


@dataclasses.dataclass(frozen=True)
class RunCell:
    """What is known about one order; anything may be missing."""

    seconds: float | None = None
    significant_figures: int = 4
    instructions: float | None = None
    device_seconds: float | None = None
    memory: MemoryFigures | None = None
    is_doubtful: bool = False
    has_failed: bool = False


@dataclasses.dataclass(frozen=True)
class RunRow:
    """One variant; `cells` by language."""

    name: str
    cells: Mapping[str, RunCell]


@dataclasses.dataclass(frozen=True)
class RunSection:
    name: str
    rows: tuple[RunRow, ...]


@dataclasses.dataclass(frozen=True)
class RunFailure:
    title: str
    step: str
    message: str
    log: str = ""
    remedy: str = ""


@dataclasses.dataclass(frozen=True)
class RunTable:
    sections: tuple[RunSection, ...] = ()
    failures: tuple[RunFailure, ...] = ()
    orders: int = 0
    measured: int = 0

    def cells(self) -> list[RunCell]:
        return [cell for section in self.sections for row in section.rows for cell in row.cells.values()]

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the orders in this table."""
        present = {language for section in self.sections for row in section.rows for language in row.cells}
        return tuple(language for language in LANGUAGES if language in present)


def tabulate_run(plan: WorkOrders, results: Results) -> RunTable:
    by_id = _cells(results)
    titles = {order.id: order.short_title for order in plan}
    sections: dict[str, dict[str, dict[str, RunCell]]] = {}
    for order in plan:
        rows = sections.setdefault(order.label[0] if order.label else plan.suite, {})
        cell = by_id.get(order.id, RunCell())
        rows.setdefault(row_name(order), {})[LANGUAGE_NAMES[order.auto.language]] = cell
    return RunTable(
        tuple(
            RunSection(name, tuple(RunRow(row, cells) for row, cells in rows.items()))
            for name, rows in sections.items()
        ),
        tuple(_failure(record, titles) for record in results.records if _is_failure_of(record, titles)),
        len(plan),
        sum(order.id in by_id and not by_id[order.id].has_failed for order in plan),
    )


def row_name(order: WorkOrder) -> str:
    """Return the label below its section, and what distinguishes the variant from the plainest one."""
    words = order.auto.unusual_words()
    return " › ".join(order.label[1:] or order.label) + (f" [{', '.join(words)}]" if words else "")


def _cells(results: Results) -> dict[str, RunCell]:
    cells: dict[str, RunCell] = {}
    for record in results.records:
        order = record.get("order")
        if not isinstance(order, Mapping):
            continue
        before = cells.get(order["id"], RunCell())
        if record["kind"] == "measurement":
            m = from_record(Measurement, record)
            changed = dataclasses.replace(
                before, seconds=m.median, significant_figures=m.significant_figures, is_doubtful=m.has_warnings
            )
        elif record["kind"] == "instruction_counts":
            counts = from_record(InstructionCounts, record)
            changed = dataclasses.replace(before, instructions=counts.outside_allocator_per_run)
        elif record["kind"] == "device_measurement":
            hot = from_record(DeviceMeasurement, record).hot
            changed = dataclasses.replace(before, device_seconds=hot.median if hot.measured else None)
        elif record["kind"] == "memory":
            changed = dataclasses.replace(before, memory=from_record(MemoryMeasurement, record).main)
        else:
            changed = dataclasses.replace(before, has_failed=before.has_failed or record["kind"] == "failure")
        cells[order["id"]] = changed
    return cells


def _is_failure_of(record: Mapping[str, Any], titles: Mapping[str, str]) -> bool:
    order = record.get("order")
    return record["kind"] == "failure" and isinstance(order, Mapping) and order.get("id") in titles


def _failure(record: Mapping[str, Any], titles: Mapping[str, str]) -> RunFailure:
    texts = {name: str(record.get(name, "")) for name in ("step", "message", "log", "remedy")}
    return RunFailure(titles[record["order"]["id"]], **texts)
