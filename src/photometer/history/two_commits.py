"""Two measured commits side by side: the results that both have, metric by metric, on one machine in one environment.

In: a store and two revisions. Out: a row per benchmark and metric; counts differ exactly, times beyond their intervals.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Sequence

from photometer.analysis.cause import FunctionChange
from photometer.errors import EnvironmentSpecError, StoreError
from photometer.history.changes import FOLLOWING, between_counts, levels_of
from photometer.history.nouns import Curve, CurvePoint, Machine, StoredEnvironment
from photometer.history.points import INSTRUCTIONS, TIME, UNDISTURBED
from photometer.history.repository import Repository
from photometer.history.store import Store
from photometer.history.text import SAME_INSTRUCTIONS, format_change, format_value, function_words, visible_block
from photometer.report.tables.as_text import render_text
from photometer.report.tables.table import STAYS, Cell, Column, Kind, Mark, Row, Section, Table, row_of, table_of

COLUMNS = (
    Column("change", "change", Kind.NUMBER, priority=STAYS),
    Column("benchmark", "benchmark", Kind.NAME),
    Column("metric", "metric", Kind.WORDS, priority=STAYS),
    Column("before", "before", Kind.NUMBER, priority=1),
    Column("after", "after", Kind.NUMBER, priority=1),
    Column("cause", "cause", Kind.WORDS, priority=2),
)
# For other programs; people see it in the values.
UNIT = Column("unit", "unit", Kind.WORDS)
NOT_SIDE_BY_SIDE = "Times were not measured side by side; `photometer compare` does that."


@dataclasses.dataclass(frozen=True)
class ComparedRow:
    """One metric of one benchmark at both commits."""

    curve: Curve
    base: CurvePoint
    branch: CurvePoint
    functions: tuple[FunctionChange, ...] = ()
    # Of a time: whether both commits execute the same instructions.
    has_same_instructions: bool = False

    @property
    def machine(self) -> Machine:
        return self.curve.machine

    @property
    def environment(self) -> StoredEnvironment:
        return self.curve.environment

    @property
    def relative(self) -> float:
        return (self.branch.value - self.base.value) / self.base.value if self.base.value else math.inf

    @property
    def has_changed(self) -> bool:
        """Whether no repeat of one equals any of the other; for times, whether their intervals do not overlap."""
        return self.branch.is_apart_from(self.base)


def compare_commits(
    store: Store,
    base: str,
    branch: str,
    *,
    expression: str | None = None,
    tags: Collection[str] = (),
    is_wanted: Callable[[Machine], bool] = lambda machine: True,
) -> list[ComparedRow]:
    """Return the rows: the largest exact changes first, then times, then unchanged ones."""
    old, new = stored_commit(store, base), stored_commit(store, branch)
    rows = []
    benchmarks = [benchmark.id for benchmark in store.benchmarks(expression, tags)]
    for curve in store.all_curves(benchmark_ids=benchmarks):
        if curve.metric.name in FOLLOWING or not is_wanted(curve.machine):
            continue
        levels = {level.commit.sha: level for level in levels_of(curve)}
        if old in levels and new in levels:
            rows.append(ComparedRow(curve, levels[old], levels[new]))
    alike = {_place(row) for row in rows if row.curve.metric == INSTRUCTIONS and not row.has_changed}
    rows = [_with_cause(store, row, alike) for row in rows]
    return sorted(rows, key=_importance)


def _place(row: ComparedRow) -> tuple[int, Machine, StoredEnvironment]:
    return row.curve.benchmark.id, row.machine, row.environment


def _importance(row: ComparedRow) -> tuple[bool, bool, bool, float]:
    return not row.has_changed, row.has_same_instructions, not row.curve.metric.is_exact, -abs(row.relative)


def stored_commit(store: Store, revision: str) -> str:
    """Return the full name of a measured commit, from git or from the beginning of its name."""
    known = {run.commit.sha for run in store.runs() if run.commit is not None}
    repository = Repository.find()
    if repository is not None:
        try:
            sha = repository.resolve(revision)
        except EnvironmentSpecError:
            sha = ""
        if sha in known:
            return sha
    found = sorted(sha for sha in known if sha.startswith(revision))
    if len(found) != 1:
        raise StoreError(
            f"{revision} names {'no measured commit' if not found else 'several measured commits'}",
            remedy="`photometer history runs` shows the commits; `photometer history measure` measures more.",
        )
    return found[0]


def _with_cause(
    store: Store, row: ComparedRow, alike: Collection[tuple[int, Machine, StoredEnvironment]]
) -> ComparedRow:
    if row.curve.metric in (UNDISTURBED, TIME):
        return dataclasses.replace(row, has_same_instructions=_place(row) in alike)
    if row.curve.metric.name != INSTRUCTIONS.name or not row.has_changed:
        return row
    records = store.record(row.base.result_id), store.record(row.branch.result_id)
    return dataclasses.replace(row, functions=between_counts(*records))


def table_of_comparison(rows: Sequence[ComparedRow], *, everything: bool = False) -> Table:
    """Return all rows as one table, with a section per machine and environment."""
    shown = [row for row in rows if everything or row.has_changed]
    places = list(dict.fromkeys((row.machine, row.environment) for row in shown))
    sections = tuple(
        Section(
            f"{machine.name}; {environment.name}",
            tuple(_row(row) for row in shown if (row.machine, row.environment) == (machine, environment)),
        )
        for machine, environment in places
    )
    same = sum(not row.has_changed for row in rows)
    return Table((*COLUMNS, UNIT), sections, notes=(f"{len(rows) - same} changed, {same} the same", NOT_SIDE_BY_SIDE))


def render_comparison(rows: Sequence[ComparedRow], *, everything: bool = False, width: int | None = None) -> str:
    """Return a table per machine and environment; unchanged rows are only counted, unless `everything` is set."""
    text = ""
    places = list(dict.fromkeys((row.machine, row.environment) for row in rows))
    for machine, environment in places:
        here = [row for row in rows if (row.machine, row.environment) == (machine, environment)]
        shown = [row for row in here if everything or row.has_changed]
        text += visible_block([f"{machine.name}; {environment.name}"])
        if shown:
            text += render_text(table_of(COLUMNS, [_row(row) for row in shown]), width)
        changed = [row for row in here if row.has_changed]
        machines = sum(row.has_same_instructions for row in changed)
        noted = f", {machines} with the same instructions" if machines else ""
        text += f"{len(changed) - machines} changed{noted}, {len(here) - len(changed)} the same\n"
    return text + f"\n{NOT_SIDE_BY_SIDE}\n"


def _row(row: ComparedRow) -> Row:
    metric = row.curve.metric
    is_machines = row.has_changed and row.has_same_instructions
    return row_of(
        {
            "change": Cell(
                row.relative,
                format_change(row.relative) if row.has_changed else "same",
                mark=Mark.FAINT if is_machines else Mark.NONE,
            ),
            "benchmark": row.curve.benchmark.title,
            "metric": metric.words,
            "before": Cell(row.base.value, format_value(row.base.value, metric)),
            "after": Cell(row.branch.value, format_value(row.branch.value, metric)),
            "unit": metric.unit,
            "cause": SAME_INSTRUCTIONS if is_machines else function_words(row.functions),
        }
    )
