"""From results to finished tables: one per label, one row per sub_label (else stmt), one column per description.

Rows are in blocks by number of threads, and in these in groups by env. Cells are compared within a column of a block,
never across descriptions. Replicates (equal task specs) are merged. Everything is in the order first seen, except that
numbers of threads are sorted.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

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
from photometer.analysis.tabled import CountFigure, Tabled
from photometer.errors import DefinitionError
from photometer.model.measurement import Measurement
from photometer.model.task import TaskSpec
from photometer.model.units import select_unit

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
    envs = ordered_unique(m.env for m in measurements)
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
    """Return what a table says of it: of a time that was taken in several visits, the undisturbed one."""
    return m.seconds if isinstance(m, Measurement) else m.median


def _spread(m: Tabled) -> float | None:
    return m.uncertainty if isinstance(m, Measurement) and m.visits else _share(m.iqr, m.median)


def _share(part: float, whole: float) -> float | None:
    """Return the ratio, or None if there is none that can be shown: a file may have times of 0, or of 5e-324."""
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
