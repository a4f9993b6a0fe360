"""Curves out of a store: the points of benchmarks over commits, apart by metric, project, machine and environment.

All points of one benchmark lie together in the database, so one query reads any number of benchmarks in their order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, select

from photometer.history import schema
from photometer.history.nouns import Benchmark, Commit, Curve, CurvePoint, Machine, Metric, StoredEnvironment
from photometer.history.reading import Names, read_benchmarks, read_metrics

# Rows fetched at a time: a million at once would take a gigabyte.
_FETCH = 20_000


class _Series(NamedTuple):
    """Of which runs one curve is made."""

    project: str
    machine: Machine
    environment: StoredEnvironment


def read_curves(
    connection: Connection,
    benchmark_ids: Collection[int] | None = None,
    metrics: Sequence[str] | None = None,
    *,
    project: str | None = None,
) -> Iterator[Curve]:
    names = Names.read(connection)
    series_of, commit_of = _runs(connection, names, project)
    benchmarks = {benchmark.id: benchmark for benchmark in read_benchmarks(connection)}
    known = read_metrics(connection)
    wanted = None if metrics is None else [number for number, metric in known.items() if metric.name in metrics]
    gathered: dict[_Series, list[CurvePoint]] = {}
    current: tuple[int, int] | None = None
    rows = connection.execution_options(yield_per=_FETCH).execute(_query(benchmark_ids, wanted))
    for benchmark_id, metric_id, run_id, result_id, value, low, high in rows:
        if (benchmark_id, metric_id) != current:
            if current is not None:
                yield from _finished(benchmarks[current[0]], known[current[1]], gathered)
            current, gathered = (benchmark_id, metric_id), {}
        series = series_of.get(run_id)
        if series is not None:
            point = CurvePoint(commit_of[run_id], value, low, high, run_id, result_id)
            gathered.setdefault(series, []).append(point)
    if current is not None:
        yield from _finished(benchmarks[current[0]], known[current[1]], gathered)


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


def _runs(connection: Connection, names: Names, project: str | None) -> tuple[dict[int, _Series], dict[int, Commit]]:
    """Return of each run that belongs into a curve which one, and its commit."""
    table = schema.runs
    query = select(table.c.id, table.c.project_id, table.c.machine_id, table.c.environment_id, table.c.commit_id).where(
        table.c.commit_id.is_not(None), table.c.is_dirty.is_(False)
    )
    series, commits = {}, {}
    made: dict[tuple[int, int, int], _Series] = {}
    for run_id, project_id, machine_id, environment_id, commit_id in connection.execute(query):
        if project is not None and names.projects[project_id] != project:
            continue
        place = (project_id, machine_id, environment_id)
        if place not in made:
            made[place] = _Series(
                names.projects[project_id], names.machines[machine_id], names.environments[environment_id]
            )
        series[run_id] = made[place]
        commits[run_id] = names.commits[commit_id]
    return series, commits


def _finished(benchmark: Benchmark, metric: Metric, gathered: dict[_Series, list[CurvePoint]]) -> Iterator[Curve]:
    place = attrgetter("commit.committed_at", "commit.generation", "commit.sha", "run_id", "result_id")
    for series, points in gathered.items():
        points.sort(key=place)
        yield Curve(benchmark, metric, series.project, series.machine, series.environment, tuple(points))
