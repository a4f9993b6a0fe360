"""Store: the history of a project, opened by path or URL, and everything that can be read from it.

    with open_store(".photometer/history.sqlite") as store:
        for run in store.runs():
            ...
        for benchmark in store.benchmarks():
            for curve in store.curves(benchmark.id, "instructions"):
                ...

Reading returns the frozen records of nouns.py. Errors of the database are StoreErrors without passwords.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, Select, select

from photometer.errors import StoreError
from photometer.history import schema
from photometer.history.connection import guarded, make_engine, parse_place, shown
from photometer.history.nouns import (
    Added,
    Benchmark,
    Commit,
    Curve,
    CurvePoint,
    Machine,
    Metric,
    StoredComparison,
    StoredEnvironment,
    StoredRun,
)
from photometer.history.reading import Names, Rows, read_benchmarks, read_metrics

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from photometer.history.writing import Origin, RunWriter
    from photometer.model.instruction_counts import FunctionCounts


def open_store(place: str | Path, *, create: bool = False, read_only: bool = False) -> Store:
    """Open the store at a path or URL; tables of an older photometer are upgraded, those of a newer one refused.

    With `create`, a store that is not there is made (its folder too, for its owner alone). With `read_only` nothing is
    written: an older store is refused instead of upgraded.
    """
    url = parse_place(place)
    new_file = None
    if url.get_backend_name() == "sqlite":
        path = Path(url.database or "")
        _see_to_file(path, create=create)
        new_file = path if url.database and not path.exists() else None
    with guarded(url):
        engine = make_engine(url, read_only=read_only)
        try:
            if read_only:
                schema.check(engine)
            else:
                schema.check_or_upgrade(engine, create=create)
        except BaseException:
            engine.dispose()
            if new_file is not None:
                _remove_empty(new_file)
            raise
    return Store(engine)


class Store:
    """Use as a context manager, or call `close`. Safe to read from several threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all connections."""
        self._engine.dispose()

    @property
    def engine(self) -> Engine:
        """Return SQLAlchemy's engine."""
        return self._engine

    @property
    def place(self) -> str:
        """The path, or the URL without its secrets: this may be shown."""
        return shown(self._engine.url)

    # Writing

    def add_run(
        self,
        header: Mapping[str, Any],
        records: Iterable[Mapping[str, Any]],
        origin: Origin | None = None,
        *,
        finish: bool = True,
    ) -> Added:
        """Add the records of a run. Existing ones are left alone, so adding twice changes nothing."""
        from photometer.history.writing import Origin, add_records

        with guarded(self._engine.url):
            return add_records(self._engine, header, records, origin or Origin(), finish=finish)

    def open_run(self, header: Mapping[str, Any], origin: Origin | None = None) -> RunWriter:
        """Return a writer for a run that is being measured; see recorder.py, which guards it."""
        from photometer.history.writing import Origin, RunWriter

        with guarded(self._engine.url):
            return RunWriter(self._engine, header, origin or Origin())

    # Reading

    def runs(
        self,
        *,
        limit: int | None = None,
        kind: str | None = None,
        commit: str | None = None,
        project: str | None = None,
    ) -> tuple[StoredRun, ...]:
        """Return runs, the newest first. `commit` is the beginning of a commit's full name."""
        from photometer.history.reading import read_runs

        with self._connected() as connection:
            return read_runs(connection, limit=limit, kind=kind, commit=commit, project=project)

    def run_header(self, run_id: int) -> dict[str, Any]:
        """Return the header of the run's results file."""
        from photometer.history.reading import read_header

        with self._connected() as connection:
            return read_header(connection, run_id)

    def records(self, run_id: int) -> Iterator[dict[str, Any]]:
        """Return the records of a run as its results file has them, in their order."""
        from photometer.history.reading import read_records

        with self._connected() as connection:
            yield from read_records(connection, run_id)

    def record(self, result_id: int) -> dict[str, Any]:
        """Return one record by the number that a CurvePoint or a StoredComparison has."""
        from photometer.history.reading import read_record

        with self._connected() as connection:
            return read_record(connection, result_id)

    def benchmarks(self, expression: str | None = None, tags: Collection[str] = ()) -> tuple[Benchmark, ...]:
        """Return the benchmarks by title; `expression` selects as `-k` does."""
        from photometer.history.reading import read_benchmarks
        from photometer.plan.selection import parse_expression

        matches = None if expression is None else parse_expression(expression)
        with self._connected() as connection:
            found = read_benchmarks(connection)
        return tuple(
            benchmark
            for benchmark in found
            if (matches is None or matches(benchmark.names)) and (not tags or set(tags) & set(benchmark.tags))
        )

    def metrics(self) -> tuple[Metric, ...]:
        """Return the metrics that the store has values of."""
        from photometer.history.reading import read_metrics

        with self._connected() as connection:
            return tuple(read_metrics(connection).values())

    def curves(self, benchmark_id: int, metric: str | None = None, *, project: str | None = None) -> tuple[Curve, ...]:
        """Return a benchmark's curves over commits, one per metric, project, machine and environment.

        Runs without a commit, and of changed working trees, are not in them. A commit that was measured several times
        has several points.
        """
        with self._connected() as connection:
            return tuple(read_curves(connection, [benchmark_id], None if metric is None else [metric], project=project))

    def all_curves(
        self,
        metrics: Sequence[str] | None = None,
        *,
        benchmark_ids: Collection[int] | None = None,
        project: str | None = None,
    ) -> Iterator[Curve]:
        """Return the curves of all benchmarks, one benchmark after the other; they are read as they are needed."""
        with self._connected() as connection:
            yield from read_curves(connection, benchmark_ids, metrics, project=project)

    def functions(self, result_id: int) -> FunctionCounts:
        """Return the functions of a count (a point of "instructions"), the largest first, for all its runs together."""
        from photometer.history.reading import functions_of

        return functions_of(self.record(result_id))

    def comparisons(
        self,
        *,
        benchmark_id: int | None = None,
        run_id: int | None = None,
        limit: int | None = None,
        with_figures: bool = False,
    ) -> tuple[StoredComparison, ...]:
        """Return verdicts, the newest first. `with_figures` also reads the counts and the memory of both sides."""
        from photometer.history.reading import read_comparisons

        with self._connected() as connection:
            return read_comparisons(
                connection, benchmark_id=benchmark_id, run_id=run_id, limit=limit, with_figures=with_figures
            )

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Connection]:
        with guarded(self._engine.url), self._engine.connect() as connection:
            yield connection


def _see_to_file(path: Path, *, create: bool) -> None:
    if path.is_dir():
        raise StoreError(f"{path}: is a folder", remedy="Name the file of the store, such as history.sqlite in it.")
    if path.exists():
        return
    if not create:
        raise StoreError(
            f"{path}: there is no history store", remedy="Make one with `photometer history create`, or check the path."
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(f"{path}: its folder cannot be made: {error.strerror or error}") from error


def _remove_empty(path: Path) -> None:
    """Remove a file that could not be made a store.

    One that has tables is left, because another process has made it a store.
    """
    import sqlite3

    with contextlib.suppress(sqlite3.Error, OSError):
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as connection:
            has_tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,)
        if not has_tables:
            for end in ("", "-wal", "-shm", "-journal"):
                path.with_name(path.name + end).unlink(missing_ok=True)


# Rows fetched at a time: a million at once would take a gigabyte.
_FETCH = 20_000


@dataclasses.dataclass(frozen=True, eq=False)
class _Series:
    """The properties of runs that share one curve. There is one object of each, which is its own key."""

    project: str
    machine: Machine
    environment: StoredEnvironment


class _Run(NamedTuple):
    """A run that belongs to a curve: its series, its commit, and its place among the runs, from old to new."""

    series: _Series
    commit: Commit
    place: int


def read_curves(
    connection: Connection,
    benchmark_ids: Collection[int] | None = None,
    metrics: Sequence[str] | None = None,
    *,
    project: str | None = None,
) -> Iterator[Curve]:
    runs = _runs(connection, Names.read(connection), project)
    benchmarks = Rows((benchmark.id, benchmark) for benchmark in read_benchmarks(connection))
    known = Rows(read_metrics(connection))
    wanted = None if metrics is None else [number for number, metric in known.items() if metric.name in metrics]
    found = connection.execution_options(yield_per=_FETCH).execute(_query(benchmark_ids, wanted))
    for (benchmark_id, metric_id), rows in itertools.groupby(found, itemgetter(0, 1)):
        gathered: dict[_Series, list[CurvePoint]] = {}
        for _, _, run_id, result_id, value, low, high in rows:
            run = runs.get(run_id)
            if run is not None:
                gathered.setdefault(run.series, []).append(CurvePoint(run.commit, value, low, high, run_id, result_id))
        for series, points in gathered.items():
            points.sort(key=lambda point: (runs[point.run_id].place, point.result_id))
            yield Curve(
                benchmarks[benchmark_id],
                known[metric_id],
                series.project,
                series.machine,
                series.environment,
                tuple(points),
            )


def _query(benchmark_ids: Collection[int] | None, metric_ids: Sequence[int] | None) -> Select[Any]:
    table = schema.points
    query = select(
        table.c.benchmark_id,
        table.c.metric_id,
        table.c.run_id,
        table.c.result_id,
        table.c.value,
        table.c.low,
        table.c.high,
    ).order_by(table.c.benchmark_id, table.c.metric_id)
    if benchmark_ids is not None:
        query = query.where(table.c.benchmark_id.in_(list(benchmark_ids)))
    if metric_ids is not None:
        query = query.where(table.c.metric_id.in_(list(metric_ids)))
    return query


def _runs(connection: Connection, names: Names, project: str | None) -> dict[int, _Run]:
    """Return the runs that belong to curves, by number."""
    table = schema.runs
    query = select(table.c.id, table.c.project_id, table.c.machine_id, table.c.environment_id, table.c.commit_id).where(
        table.c.commit_id.is_not(None), table.c.is_dirty.is_(False)
    )
    found: dict[int, tuple[_Series, Commit]] = {}
    made: dict[tuple[int, int, int], _Series] = {}
    for run_id, project_id, machine_id, environment_id, commit_id in connection.execute(query):
        if project is not None and names.projects[project_id] != project:
            continue
        key = (project_id, machine_id, environment_id)
        if key not in made:
            made[key] = _Series(
                names.projects[project_id], names.machines[machine_id], names.environments[environment_id]
            )
        found[run_id] = made[key], names.commits[commit_id]
    oldest_first = sorted(found, key=lambda run_id: (found[run_id][1].place, run_id))
    return {run_id: _Run(*found[run_id], place) for place, run_id in enumerate(oldest_first)}
