"""From results to finished tables: one per label, one row per sub_label (else stmt), one column per description.

Rows are in blocks by number of threads, and in these in groups by env. Cells are compared within a column of a block,
never across descriptions. Replicates (equal task specs) are merged. Everything is in the order first seen, except that
numbers of threads are sorted. `Tabled` is a result of any kind, with its times or counts and its place in a table.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from photometer.analysis.comparison_result import SIDE_NAMES, ComparisonResult, EnvironmentComparison
from photometer.analysis.ranking import Ranking
from photometer.analysis.table import (
    COUNT_UNIT,
    Block,
    Cell,
    Colorize,
    EnvGroup,
    Reference,
    Row,
    Standing,
    Table,
    TableRequest,
    ordered_unique,
)
from photometer.analysis.verdict import Verdict
from photometer.errors import DefinitionError
from photometer.instruments.ladder import LadderStep
from photometer.model.device_measurement import DeviceMeasurement
from photometer.model.diagnosis import Suspicion
from photometer.model.fuzz_trial import FuzzTrial
from photometer.model.instruction_counts import CallgrindStats, InstructionCounts
from photometer.model.measurement import Measurement
from photometer.model.run_figures import ProcessorCounts
from photometer.model.task import TaskSpec
from photometer.model.torch_results import adopted
from photometer.model.units import select_unit
from photometer.stats.summary import median

# As many digits of a count mean something: all that it has.
DIGITS_OF_A_COUNT = 12


class Tabled(Protocol):
    """The properties that `tabulate` needs of a value in a cell."""

    @property
    def task_spec(self) -> TaskSpec: ...
    @property
    def label(self) -> str | None: ...
    @property
    def description(self) -> str | None: ...
    @property
    def env(self) -> str | None: ...
    @property
    def num_threads(self) -> int: ...
    @property
    def as_row_name(self) -> str: ...
    @property
    def median(self) -> float: ...
    @property
    def iqr(self) -> float: ...
    @property
    def interval_seconds(self) -> tuple[float, float]: ...
    @property
    def significant_figures(self) -> int: ...
    @property
    def warnings(self) -> tuple[Suspicion, ...]: ...
    @property
    def raw_times(self) -> Sequence[float]: ...


@dataclasses.dataclass(frozen=True)
class CountFigure:
    """Instructions per run of each repeat; its task's description is the column."""

    task_spec: TaskSpec
    raw_times: tuple[float, ...]

    @property
    def label(self) -> str | None:
        return self.task_spec.label

    @property
    def description(self) -> str | None:
        return self.task_spec.description

    @property
    def env(self) -> str | None:
        return self.task_spec.env

    @property
    def num_threads(self) -> int:
        return self.task_spec.num_threads

    @property
    def as_row_name(self) -> str:
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    @property
    def median(self) -> float:
        return median(self.raw_times)

    @property
    def iqr(self) -> float:
        return 0.0

    @property
    def interval_seconds(self) -> tuple[float, float]:
        """Return the range from the smallest to the largest repeat, which are mostly equal."""
        return min(self.raw_times), max(self.raw_times)

    @property
    def significant_figures(self) -> int:
        return DIGITS_OF_A_COUNT

    @property
    def warnings(self) -> tuple[Suspicion, ...]:
        return ()


def tabled(result: object) -> list[Measurement | CountFigure]:
    """Return the figures of one result for a table; raise an error for a kind that has none."""
    result = adopted(result)
    if isinstance(result, Measurement):
        return [result]
    for kind, make in _MAKERS.items():
        if isinstance(result, kind):
            return make(result)
    if hasattr(result, "KIND"):
        # A kind that has neither a time nor a count of instructions.
        return []
    raise DefinitionError(
        f"Compare takes results, not {type(result).__name__}",
        remedy="Give it what Timer.blocked_autorange() and its siblings return, or what photometer.load() does.",
    )


def _device(m: DeviceMeasurement) -> list[Measurement | CountFigure]:
    return [
        Measurement(1, mode.seconds_per_run, _column(m.task_spec, mode.name.value)) for mode in m.modes if mode.measured
    ]


def _counts(counts: InstructionCounts) -> list[Measurement | CountFigure]:
    number, loop = counts.number_per_run, counts.loop_baseline
    own = [repeat if loop is None else repeat - loop for repeat in counts.repeats]
    figures = {
        "outside the allocator": tuple(repeat.outside_allocator / number for repeat in own),
        "all instructions": tuple(repeat.total / number for repeat in own),
    }
    return [CountFigure(_column(counts.task_spec, name), values) for name, values in figures.items()]


def _callgrind(stats: CallgrindStats) -> list[Measurement | CountFigure]:
    own = stats.counts() - stats.baseline_exclusive_stats.sum()
    return [CountFigure(_column(stats.task_spec, "instructions"), (own / stats.number_per_run,))]


def _processor(counts: ProcessorCounts) -> list[Measurement | CountFigure]:
    return [CountFigure(_column(counts.task_spec, "by the processor"), (counts.instructions_per_run,))]


def _verdict(verdict: Verdict) -> list[Measurement | CountFigure]:
    first, second = _sides(verdict)
    return [_single(TaskSpec("first"), first), _single(TaskSpec("second"), second)]


def _result(result: ComparisonResult, names: Sequence[str] = SIDE_NAMES) -> list[Measurement | CountFigure]:
    base, branch = _sides(result.judged)
    # A result of a file does not have the names of more than two sides.
    name = names[result.side] if 0 < result.side < len(names) else f"side {result.side}"
    return [_single(TaskSpec(result.title, env=env), s) for env, s in ((names[0], base), (name, branch))]


def _comparison(comparison: EnvironmentComparison) -> list[Measurement | CountFigure]:
    names = comparison.names if comparison.has_many_sides else SIDE_NAMES
    return [figure for result in comparison.results for figure in _result(result, names)]


def _ranking(ranking: Ranking) -> list[Measurement | CountFigure]:
    return [_single(TaskSpec(statement.name), statement.seconds) for statement in ranking]


def _ladder(step: LadderStep) -> list[Measurement | CountFigure]:
    return [] if step.seconds is None else [_single(TaskSpec(step.rung, label=step.call), step.seconds)]


def _trial(trial: FuzzTrial) -> list[Measurement | CountFigure]:
    several = len(trial.seconds_per_run) > 1
    return [
        _single(TaskSpec(trial.text, label="fuzz", description=f"statement {i}" if several else None), seconds)
        for i, seconds in enumerate(trial.seconds_per_run, start=1)
    ]


_MAKERS: Mapping[type, Callable[[Any], list[Measurement | CountFigure]]] = {
    DeviceMeasurement: _device,
    InstructionCounts: _counts,
    CallgrindStats: _callgrind,
    ProcessorCounts: _processor,
    Verdict: _verdict,
    ComparisonResult: _result,
    EnvironmentComparison: _comparison,
    Ranking: _ranking,
    LadderStep: _ladder,
    FuzzTrial: _trial,
}


def _sides(verdict: Verdict) -> tuple[float, float]:
    return verdict.base_seconds, verdict.base_seconds + verdict.difference_seconds


def _single(spec: TaskSpec, seconds: float) -> Measurement:
    return Measurement(1, [max(seconds, 0.0)], spec)


def _column(spec: TaskSpec, name: str) -> TaskSpec:
    """Return the task with one column for each figure; a description stands before its name."""
    return dataclasses.replace(spec, description=f"{spec.description}, {name}" if spec.description else name)


# Within one per cent counts as fastest; the other steps are those that users of torch know.
BEST_WITHIN = 1.01
GOOD_WITHIN = 1.1
BAD_FROM = 2.0
VERY_BAD_FROM = 5.0

# No two times that were measured differ by more; above it a ratio is a fault in the data and only widens the table.
LARGEST_RATIO = 1e15

MEDIANS_ONLY = TableRequest()


@dataclasses.dataclass(frozen=True, order=False)
class _RowKey:
    """`ordinal` distinguishes rows that have the same name but other statements or set-ups."""

    env: str | None
    name: str
    ordinal: int


_Figure = TypeVar("_Figure", bound=Tabled)
# Cells of one row by column, and rows of one block.
_Cells = dict[int, Tabled]
_Rows = dict[_RowKey, _Cells]


def tabulate(figures: Iterable[Measurement | CountFigure], request: TableRequest = MEDIANS_ONLY) -> list[Table]:
    """Return the tables, in the order in which their labels are first seen; those of counts follow those of times."""
    figures = list(figures)
    times = merge_replicates(figure for figure in figures if isinstance(figure, Measurement))
    # Of two counts of one task the later one stands: they do not get better by being put together.
    counts = {figure.task_spec: figure for figure in figures if isinstance(figure, CountFigure)}
    if request.reference is not None:
        _check_reference(request.reference, [*times, *counts.values()])
    return [
        *(_table(label, group, request, *_time_unit(group)) for label, group in _by_label(times).items()),
        *(_table(label, group, request, COUNT_UNIT, 1.0) for label, group in _by_label(counts.values()).items()),
    ]


def _by_label(figures: Iterable[_Figure]) -> dict[str | None, list[_Figure]]:
    by_label: dict[str | None, list[_Figure]] = {}
    for figure in figures:
        by_label.setdefault(figure.label, []).append(figure)
    return by_label


def _time_unit(measurements: Sequence[Measurement]) -> tuple[str, float]:
    return select_unit(min(m.seconds for m in measurements))


def merge_replicates(measurements: Iterable[Measurement]) -> list[Measurement]:
    """Return one measurement per task spec. A measurement without replicates stays as it is."""
    groups: dict[TaskSpec, list[Measurement]] = {}
    for measurement in measurements:
        groups.setdefault(measurement.task_spec, []).append(measurement)
    return [group[0] if len(group) == 1 else Measurement.merge(group)[0] for group in groups.values()]


def _check_reference(reference: Reference, everything: Sequence[Tabled]) -> None:
    if not everything:
        return
    for wanted, what, present in (
        (reference.row, "row", ordered_unique(m.as_row_name for m in everything)),
        (reference.env, "env", ordered_unique(m.env for m in everything)),
    ):
        if wanted is not None and wanted not in present:
            named = ", ".join(repr(name) for name in present[:10] if name is not None) or "none with a name"
            near = difflib.get_close_matches(wanted, [name for name in present if name is not None], 1)
            meant = f"Did you mean {near[0]!r}? " if near else ""
            raise DefinitionError(
                f"the baseline's {what} {wanted!r} is not in the results", remedy=f"{meant}There are: {named}."
            )


def _table(
    label: str | None, measurements: Sequence[Tabled], request: TableRequest, unit: str, unit_size: float
) -> Table:
    columns = ordered_unique(m.description for m in measurements)
    # As in torch; what has none comes first.
    envs = sorted(ordered_unique(m.env for m in measurements), key=lambda env: (env is not None, env or ""))
    by_threads = _place(measurements, {description: i for i, description in enumerate(columns)})
    blocks = []
    for num_threads in sorted(by_threads):
        rows = by_threads[num_threads]
        finished = _finish_block(rows, len(columns), request)
        of_env: dict[str | None, list[Row]] = {env: [] for env in envs}
        for key, row in finished.items():
            of_env[key.env].append(row)
        groups = tuple(EnvGroup(env, tuple(members)) for env, members in of_env.items() if members)
        blocks.append(Block(num_threads, groups))
    return Table(label, unit, unit_size, tuple(columns), tuple(blocks), request)


def _place(measurements: Sequence[Tabled], column_of: Mapping[str | None, int]) -> dict[int, _Rows]:
    """Put every measurement into its block, row and column. Two that differ only in set-up go into two rows."""
    taken: dict[tuple[int, str | None, str, int], int] = {}
    by_threads: dict[int, _Rows] = {}
    for m in measurements:
        column = column_of[m.description]
        place = (m.num_threads, m.env, m.as_row_name, column)
        ordinal = taken[place] = taken.get(place, 0) + 1
        row = by_threads.setdefault(m.num_threads, {}).setdefault(_RowKey(m.env, m.as_row_name, ordinal), {})
        row[column] = m
    return by_threads


def _finish_block(rows: _Rows, width: int, request: TableRequest) -> dict[_RowKey, Row]:
    fastest: dict[int, Tabled] = {}
    if request.colorize is Colorize.COLUMNWISE or (request.reference is not None and request.reference.is_fastest):
        for cells in rows.values():
            for column, m in cells.items():
                if column not in fastest or _figure(m) < _figure(fastest[column]):
                    fastest[column] = m
    finished = {}
    for key, cells in rows.items():
        row_best = min(map(_figure, cells.values())) if request.colorize is Colorize.ROWWISE else None
        row: list[Cell | None] = [None] * width
        for column, m in cells.items():
            best = row_best if row_best is not None or column not in fastest else _figure(fastest[column])
            reference = _reference_for(key, column, rows, fastest, request.reference)
            row[column] = _cell(m, request, best if request.colorize is not Colorize.NONE else None, reference)
        name = key.name if key.ordinal == 1 else f"{key.name} ({key.ordinal})"
        finished[key] = Row(name, tuple(row))
    return finished


def _reference_for(
    key: _RowKey, column: int, rows: _Rows, fastest: Mapping[int, Tabled], reference: Reference | None
) -> Tabled | None:
    if reference is None:
        return None
    if reference.is_fastest:
        return fastest[column]
    env = key.env if reference.env is None else reference.env
    same_row = reference.row is None
    wanted = _RowKey(env, key.name if same_row else str(reference.row), key.ordinal if same_row else 1)
    return rows.get(wanted, {}).get(column)


def _cell(m: Tabled, request: TableRequest, best: float | None, reference: Tabled | None) -> Cell:
    return Cell(
        value=_figure(m),
        samples=len(m.raw_times),
        significant_figures=m.significant_figures if request.significant_figures else None,
        spread=_spread(m) if request.warnings else None,
        interval=m.interval_seconds if request.reference is not None else None,
        standing=None if best is None else standing(_figure(m), best),
        ratio=None if reference is None else _share(_figure(m), _figure(reference)),
        is_reference=reference is m,
        overlaps_reference=reference is not None
        and reference is not m
        and _overlap(m.interval_seconds, reference.interval_seconds),
        warnings=m.warnings if request.warnings else (),
    )


def _figure(m: Tabled) -> float:
    """Return the figure for a table: for a time that was taken in several visits, the undisturbed one."""
    return m.seconds if isinstance(m, Measurement) else m.median


def _spread(m: Tabled) -> float | None:
    return m.uncertainty if isinstance(m, Measurement) and m.visits else _share(m.iqr, m.median)


def _share(part: float, whole: float) -> float | None:
    """Return the ratio, or None if it cannot be shown: a file may have times of 0, or of 5e-324."""
    ratio = part / whole if whole > 0 else math.inf
    return ratio if ratio <= LARGEST_RATIO else None


def _overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def standing(seconds: float, best_seconds: float) -> Standing:
    if seconds <= best_seconds * BEST_WITHIN:
        return Standing.BEST
    if seconds <= best_seconds * GOOD_WITHIN:
        return Standing.GOOD
    if seconds >= best_seconds * VERY_BAD_FROM:
        return Standing.VERY_BAD
    if seconds >= best_seconds * BAD_FROM:
        return Standing.BAD
    return Standing.MIDDLING
