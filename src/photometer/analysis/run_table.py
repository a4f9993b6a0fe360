"""RunTable: the results of a suite as data: one row per variant, with times and counts of Python and C++.

In: the records of a results file. Out: sections of rows in the order of the suite, the failures, and cautions: which
times are doubtful, and one sentence if the machine is the reason. `run`, `show` and the page show the same table.
`recorded_plan` makes the plan that it needs from the file: orders without the set-ups of scripted models, enough for
tables and names, but not to run.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from photometer.analysis.order_facts import OrderFacts, facts_of_order
from photometer.definition.timer_args import TimerArgs
from photometer.errors import MeasurementError, ResultsFileError
from photometer.model.device_measurement import DeviceMeasurement
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.measurement import Measurement
from photometer.model.memory_measurement import MemoryFigures, MemoryMeasurement
from photometer.model.order_name import order_id_of, title_text
from photometer.model.records import from_record
from photometer.model.results_format import SKIPPED
from photometer.model.results_reader import Results
from photometer.model.task import Language, TaskSpec
from photometer.model.visit import UNFINISHED
from photometer.plan.auto_labels import LANGUAGE_NAMES, AutoLabels
from photometer.plan.work_order import WorkOrder, WorkOrders
from photometer.stats.summary import median

# A reason that more than this share of the rows have says something about the machine, not about a row.
COMMON_SHARE = 0.05
# In a short table a few rows are a large share; this many may each be marked.
FEW_ROWS = 4
# Of the rows that share a common reason, those are marked that scatter this much more than most of them.
WORSE_THAN_THE_REST = 2.0


@dataclasses.dataclass(frozen=True)
class Doubt:
    """A reason, its kind in a word or two, and how well the time is known: half its interval by the time."""

    kind: str
    message: str
    remedy: str
    spread: float = 0.0


@dataclasses.dataclass(frozen=True)
class Cautions:
    """`machine` is a sentence for the top, or empty; `marks` are the reasons of the marked rows."""

    machine: str = ""
    marks: Mapping[str, tuple[Doubt, ...]] = dataclasses.field(default_factory=dict)


def doubts_of(measured: Measurement | DeviceMeasurement) -> tuple[Doubt, ...]:
    """Return the reasons to doubt one time; none for one without samples, which is shown as failed."""
    try:
        spread = measured.uncertainty if isinstance(measured, Measurement) else 0.0
        return tuple(Doubt(each.kind.value, each.message, each.remedy, spread) for each in measured.warnings)
    except MeasurementError:
        return ()


def judge_cautions(doubts: Mapping[str, Sequence[Doubt]], rows: int) -> Cautions:
    """Judge the doubts of all rows together. `rows` is the number of times, doubtful or not."""
    counted = Counter(kind for found in doubts.values() for kind in {doubt.kind for doubt in found})
    common = {kind for kind, number in counted.items() if number > max(FEW_ROWS, COMMON_SHARE * rows)}
    usual = {
        kind: median([doubt.spread for found in doubts.values() for doubt in found if doubt.kind == kind])
        for kind in common
    }
    marks = {}
    for order, found in doubts.items():
        worse = tuple(
            doubt
            for doubt in found
            if doubt.kind not in common or 0 < WORSE_THAN_THE_REST * usual[doubt.kind] <= doubt.spread
        )
        if worse:
            marks[order] = worse
    return Cautions(_machine(doubts, counted, common, rows), marks)


def _machine(doubts: Mapping[str, Sequence[Doubt]], counted: Counter[str], common: set[str], rows: int) -> str:
    if not common:
        return ""
    doubtful = sum(any(doubt.kind in common for doubt in found) for found in doubts.values())
    kinds = [kind for kind, _ in counted.most_common() if kind in common]
    counts = ", ".join(f"{kind} in {counted[kind]}" for kind in kinds)
    remedy = next(doubt.remedy for found in doubts.values() for doubt in found if doubt.kind == kinds[0])
    return f"{doubtful} of {rows} times are doubtful ({counts}). {remedy} `photometer doctor` says what disturbs them."


LANGUAGES = (LANGUAGE_NAMES[Language.PYTHON], LANGUAGE_NAMES[Language.CPP])
LANGUAGE_WORDS = {LANGUAGES[0]: "python", LANGUAGES[1]: "c++"}


@dataclasses.dataclass(frozen=True)
class RunCell:
    """The results of one order; any of them may be missing. `failed_step` is the step at which it was given up."""

    seconds: float | None = None
    # The median, with what disturbs; only if `seconds` is the time without.
    typical_seconds: float | None = None
    significant_figures: int = 4
    instructions: float | None = None
    repeats_differ: bool = False
    device_seconds: float | None = None
    memory: MemoryFigures | None = None
    failed_step: str = ""
    is_skipped: bool = False
    # Whether it was interrupted before it had all of its visits.
    is_unfinished: bool = False
    doubts: tuple[Doubt, ...] = ()

    @property
    def is_doubtful(self) -> bool:
        """Whether the row is marked."""
        return bool(self.doubts)

    @property
    def has_results(self) -> bool:
        known = (self.seconds, self.instructions, self.device_seconds, self.memory)
        return any(each is not None for each in known)

    @property
    def is_partial(self) -> bool:
        """Whether some of it was measured and some failed: a time, but no count."""
        return bool(self.failed_step) and self.has_results


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
    is_partial: bool = False


@dataclasses.dataclass(frozen=True)
class Skip:
    """A benchmark that says itself that it does not apply here, and why."""

    title: str
    reason: str


@dataclasses.dataclass(frozen=True)
class RunTable:
    """All rows. `orders` is the number of orders in the run, measured or not; `machine` is a sentence about doubts."""

    sections: tuple[RunSection, ...] = ()
    failures: tuple[RunFailure, ...] = ()
    skips: tuple[Skip, ...] = ()
    orders: int = 0
    measured: int = 0
    machine: str = ""

    def cells(self) -> list[RunCell]:
        return [cell for section in self.sections for row in section.rows for cell in row.cells.values()]

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the orders in this table."""
        present = {language for section in self.sections for row in section.rows for language in row.cells}
        return tuple(language for language in LANGUAGES if language in present)

    @property
    def typical_excess(self) -> float | None:
        """How much longer typical times are than undisturbed ones: the median over the table. None if unknown."""
        ratios = [cell.typical_seconds / cell.seconds for cell in self.cells() if cell.typical_seconds and cell.seconds]
        return median(ratios) - 1.0 if ratios else None

    @property
    def partial(self) -> int:
        return sum(cell.is_partial for cell in self.cells())

    @property
    def unfinished(self) -> int:
        return sum(cell.is_unfinished for cell in self.cells())

    @property
    def doubtful(self) -> int:
        """How many rows are marked."""
        return sum(cell.is_doubtful for cell in self.cells())


def is_run(results: Results) -> bool:
    """Whether a file is from a run of a suite."""
    return isinstance(results.header.get("run"), Mapping) and any("order" in record for record in results.records)


def tabulate_run(results: Results, only: Collection[str] | None = None, suite: str = "") -> RunTable:
    """Tabulate the orders of a file, or `only` those with these ids; `suite` heads rows without labels of their own."""
    records = [record for record in results.records_by_suite if isinstance(record.get("order"), Mapping)]
    facts = _facts(records, only)
    try:
        cells = _cells([record for record in records if order_id_of(record) in facts])
        cautions = cautions_of(records)
    except ResultsFileError as error:
        raise ResultsFileError(f"{results.path}: {error.message}") from error
    sections: dict[str, dict[str, dict[str, RunCell]]] = {}
    for order, known in facts.items():
        rows = sections.setdefault(known.label[0] if known.label else suite, {})
        cell = dataclasses.replace(cells.get(order, RunCell()), doubts=cautions.marks.get(order, ()))
        rows.setdefault(known.row_name, {})[known.language] = cell
    mine = [record for record in records if order_id_of(record) in facts]
    return RunTable(
        tuple(
            RunSection(name, tuple(RunRow(row, found) for row, found in rows.items()))
            for name, rows in sections.items()
        ),
        tuple(_failure(record, facts, cells) for record in mine if record["kind"] == "failure"),
        tuple(_skip(record, facts) for record in mine if record["kind"] == SKIPPED),
        max(len(facts), results.listed_orders) if only is None else len(only),
        sum(cell.has_results for cell in cells.values()),
        cautions.machine,
    )


def cautions_of(records: Sequence[Mapping[str, Any]]) -> Cautions:
    """Return the doubts about the times of a results file, judged together."""
    doubts: dict[str, tuple[Doubt, ...]] = {}
    times = set()
    for record in records:
        order = record.get("order")
        is_time = record["kind"] in ("measurement", "device_measurement") and not record.get(UNFINISHED)
        if is_time and isinstance(order, Mapping):
            identity = order_id_of(record)
            times.add(identity)
            is_wall = record["kind"] == "measurement"
            found = doubts_of(from_record(Measurement, record) if is_wall else from_record(DeviceMeasurement, record))
            doubts[identity] = doubts.get(identity, ()) + found
    return judge_cautions({order: found for order, found in doubts.items() if found}, len(times))


def _facts(records: Sequence[Mapping[str, Any]], only: Collection[str] | None) -> dict[str, OrderFacts]:
    found: dict[str, OrderFacts] = {}
    for record in records:
        order = record["order"]
        identity = order_id_of(record)
        if identity not in found and isinstance(order.get("label"), Sequence) and (only is None or identity in only):
            found[identity] = facts_of_order(order)
    return found


def _title(facts: OrderFacts) -> str:
    language = LANGUAGE_WORDS.get(facts.language, facts.language)
    return title_text(facts.label, [language, *facts.variant_words, *facts.size_words])


def _cells(records: Sequence[Mapping[str, Any]]) -> dict[str, RunCell]:
    cells: dict[str, RunCell] = {}
    for record in records:
        identity = order_id_of(record)
        before = cells.get(identity, RunCell())
        changed = before
        if record["kind"] == "measurement":
            m = from_record(Measurement, record)
            if m.raw_times:
                typical = m.median if m.visits else None
                changed = dataclasses.replace(
                    before,
                    seconds=m.seconds,
                    typical_seconds=typical,
                    significant_figures=m.significant_figures,
                    is_unfinished=bool(record.get(UNFINISHED)),
                )
        elif record["kind"] == "instruction_counts":
            counts = from_record(InstructionCounts, record)
            changed = dataclasses.replace(
                before, instructions=counts.outside_allocator_per_run, repeats_differ=not counts.is_exact
            )
        elif record["kind"] == "device_measurement":
            hot = from_record(DeviceMeasurement, record).hot
            changed = dataclasses.replace(before, device_seconds=hot.median if hot.measured else None)
        elif record["kind"] == "memory":
            changed = dataclasses.replace(before, memory=from_record(MemoryMeasurement, record).main)
        elif record["kind"] == "failure":
            changed = dataclasses.replace(before, failed_step=before.failed_step or str(record.get("step", "time")))
        elif record["kind"] == SKIPPED:
            changed = dataclasses.replace(before, is_skipped=True)
        cells[identity] = changed
    return cells


def _failure(record: Mapping[str, Any], facts: Mapping[str, OrderFacts], cells: Mapping[str, RunCell]) -> RunFailure:
    identity = order_id_of(record)
    texts = {name: str(record.get(name, "")) for name in ("step", "message", "log", "remedy")}
    return RunFailure(_title(facts[identity]), **texts, is_partial=cells[identity].is_partial)


def _skip(record: Mapping[str, Any], facts: Mapping[str, OrderFacts]) -> Skip:
    return Skip(_title(facts[order_id_of(record)]), str(record.get("reason", "")))


def recorded_plan(results: Results) -> WorkOrders:
    """Return the orders of the records that have one and a task."""
    about = results.header.get("run")
    about = about if isinstance(about, Mapping) else {}
    found: dict[str, WorkOrder] = {}
    for record in results.records_by_suite:
        order = record.get("order")
        if (
            isinstance(order, Mapping)
            and order_id_of(record) not in found
            and isinstance(record.get("task_spec"), dict)
        ):
            found[order_id_of(record)] = _order(order, from_record(TaskSpec, record["task_spec"]))
    return WorkOrders(str(about.get("suite", "")), str(about.get("fingerprint", "")), tuple(found.values()))


def _order(order: Mapping[str, Any], spec: TaskSpec) -> WorkOrder:
    parts, tags = order.get("label"), order.get("tags", ())
    is_named = bool(order.get("id")) and isinstance(order.get("auto"), Mapping)
    if not is_named or not isinstance(parts, Sequence) or not isinstance(tags, Sequence):
        raise ResultsFileError(
            f"the order {order.get('id')!r:.60} is damaged: it has no id or no labels",
            remedy="Read the file with --recover, or measure again.",
        )
    auto = from_record(AutoLabels, order["auto"])
    args = TimerArgs(spec.stmt, spec.setup, spec.global_setup, spec.num_threads, auto.language, check=False)
    label = tuple(str(part) for part in parts)
    return WorkOrder(str(order["id"]), label, auto, args, tuple(str(tag) for tag in tags))
