"""Queries of a store: runs, benchmarks, records, comparisons. `Store` passes the connection.

The tables of names (commits, machines, environments, suites, projects) are small and are read whole.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, TypeVar

from sqlalchemy import Connection, Row, case, func, select

from photometer.errors import ResultsFileError, StoreError
from photometer.history import schema
from photometer.history.contents import unpack
from photometer.history.nouns import (
    Benchmark,
    Commit,
    Machine,
    Metric,
    StoredComparison,
    StoredEnvironment,
    StoredRun,
    Suite,
)
from photometer.history.points import compared_figures
from photometer.model.instruction_counts import FunctionCounts

_Row = TypeVar("_Row")


class Rows(dict[int, _Row]):
    """Rows by number. A missing row was lost, because the database refuses references to rows that do not exist."""

    def __missing__(self, number: int) -> NoReturn:
        raise _damaged(f"a run refers to row {number}, which does not exist")


@dataclasses.dataclass(frozen=True)
class Names:
    """Everything that runs refer to, by number."""

    projects: Mapping[int, str]
    commits: Mapping[int, Commit]
    machines: Mapping[int, Machine]
    environments: Mapping[int, StoredEnvironment]
    suites: Mapping[int, Suite]

    @classmethod
    def read(cls, connection: Connection) -> Names:
        rows = connection.execute
        return cls(
            Rows((row.id, row.name) for row in rows(select(schema.projects))),
            Rows((row.id, _commit(row)) for row in rows(select(schema.commits))),
            Rows(
                (row.id, Machine(row.id, row.fingerprint, row.name, _facts(row.facts)))
                for row in rows(select(schema.machines))
            ),
            Rows(
                (row.id, StoredEnvironment(row.id, row.fingerprint, row.name, _facts(row.facts)))
                for row in rows(select(schema.environments))
            ),
            Rows((row.id, Suite(row.name, row.fingerprint)) for row in rows(select(schema.suites))),
        )


def read_runs(
    connection: Connection, *, limit: int | None, kind: str | None, commit: str | None, project: str | None
) -> tuple[StoredRun, ...]:
    names = Names.read(connection)
    table = schema.runs
    columns = [column for column in table.c if column.name != "header"]
    query = select(*columns).order_by(table.c.started_at.desc(), table.c.id.desc())
    if kind is not None:
        query = query.where(table.c.kind == kind)
    if commit is not None:
        wanted = [number for number, each in names.commits.items() if each.sha.startswith(commit)]
        query = query.where(table.c.commit_id.in_(wanted))
    if project is not None:
        query = query.where(table.c.project_id.in_([n for n, name in names.projects.items() if name == project]))
    # A database counts in 64 bits.
    rows = connection.execute(query.limit(None if limit is None else min(limit, sys.maxsize))).all()
    counted = _count_results(connection, None if limit is None else [row.id for row in rows])
    return tuple(_run(row, names, *counted.get(row.id, (0, 0))) for row in rows)


def _count_results(connection: Connection, run_ids: list[int] | None) -> dict[int, tuple[int, int]]:
    table = schema.results
    failures = func.sum(case((table.c.kind == "failure", 1), else_=0))
    query = select(table.c.run_id, func.count(), failures).group_by(table.c.run_id)
    if run_ids is not None:
        query = query.where(table.c.run_id.in_(run_ids))
    return {run: (int(all_of_it), int(failed)) for run, all_of_it, failed in connection.execute(query)}


def _run(row: Row[Any], names: Names, results: int, failures: int) -> StoredRun:
    return StoredRun(
        id=row.id,
        key=row.key,
        kind=row.kind,
        project=names.projects[row.project_id],
        commit=names.commits.get(row.commit_id),
        base_commit=names.commits.get(row.base_commit_id),
        branch=row.branch,
        is_dirty=bool(row.is_dirty),
        machine=names.machines[row.machine_id],
        environment=names.environments[row.environment_id],
        suite=names.suites[row.suite_id],
        started_at=row.started_at,
        is_complete=bool(row.is_complete),
        source=row.source,
        results=results,
        failures=failures,
    )


def read_header(connection: Connection, run_id: int) -> dict[str, Any]:
    text = connection.scalar(select(schema.runs.c.header).where(schema.runs.c.id == run_id))
    if text is None:
        raise StoreError(f"there is no run {run_id}", remedy="`photometer history runs` shows their numbers.")
    return dict(json.loads(text))


def read_records(connection: Connection, run_id: int) -> Iterator[dict[str, Any]]:
    results, contents = schema.results, schema.contents
    query = (
        select(contents.c.data)
        .join_from(results, contents, results.c.digest == contents.c.digest)
        .where(results.c.run_id == run_id)
        .order_by(results.c.number)
    )
    for (data,) in connection.execute(query):
        yield unpack(data)


def read_record(connection: Connection, result_id: int) -> dict[str, Any]:
    results, contents = schema.results, schema.contents
    query = (
        select(contents.c.data)
        .join_from(results, contents, results.c.digest == contents.c.digest)
        .where(results.c.id == result_id)
    )
    data = connection.scalar(query)
    if data is None:
        raise StoreError(f"there is no result {result_id}")
    return unpack(data)


def functions_of(record: Mapping[str, Any]) -> FunctionCounts:
    """Return the functions of a count; none for a record that is not a count."""
    counts: dict[str, int] = {}
    try:
        for count, function in record.get("top_functions") or ():
            counts[str(function)] = counts.get(str(function), 0) + int(count)
    except (TypeError, ValueError) as error:
        raise ResultsFileError(f"the functions of a stored count cannot be read: {error}") from error
    return FunctionCounts.from_mapping(counts, inclusive=False)


def read_benchmarks(connection: Connection) -> tuple[Benchmark, ...]:
    table = schema.benchmarks
    return tuple(_benchmark(row) for row in connection.execute(select(table).order_by(table.c.title, table.c.id)))


def read_metrics(connection: Connection) -> dict[int, Metric]:
    rows = connection.execute(select(schema.metrics).order_by(schema.metrics.c.id)).all()
    for row in rows:
        # SQLite keeps a value of any type in any column.
        if not isinstance(row.name, str) or not isinstance(row.unit, str):
            raise _damaged(f"metric {row.id} has no name or no unit")
    return {row.id: Metric(row.name, row.unit, bool(row.is_exact)) for row in rows}


def read_comparisons(
    connection: Connection,
    *,
    benchmark_id: int | None,
    run_id: int | None,
    limit: int | None,
    with_figures: bool = False,
) -> tuple[StoredComparison, ...]:
    table, runs = schema.comparisons, schema.runs
    query = (
        select(table, runs.c.kind, runs.c.commit_id, runs.c.base_commit_id, runs.c.started_at, runs.c.machine_id)
        .join_from(table, runs, table.c.run_id == runs.c.id)
        .order_by(runs.c.started_at.desc(), table.c.run_id.desc(), table.c.result_id)
        .limit(limit)
    )
    if benchmark_id is not None:
        query = query.where(table.c.benchmark_id == benchmark_id)
    if run_id is not None:
        query = query.where(table.c.run_id == run_id)
    if with_figures:
        results, contents = schema.results, schema.contents
        query = query.join(results, results.c.id == table.c.result_id).join(contents)
        query = query.add_columns(contents.c.data)
    names = Names.read(connection)
    known = {benchmark.id: benchmark for benchmark in read_benchmarks(connection)}
    return tuple(
        StoredComparison(
            result_id=row.result_id,
            run_id=row.run_id,
            kind=row.kind,
            benchmark=known[row.benchmark_id],
            base=names.commits.get(row.base_commit_id),
            branch=names.commits.get(row.commit_id),
            started_at=row.started_at,
            verdict=row.verdict,
            ratio=row.ratio,
            low=row.low,
            high=row.high,
            cause=row.cause,
            machine_id=row.machine_id,
            figures=compared_figures(unpack(row.data)) if with_figures else (),
        )
        for row in connection.execute(query)
    )


def _benchmark(row: Row[Any]) -> Benchmark:
    return Benchmark(
        row.id,
        row.key,
        row.title,
        _texts(row.label),
        _facts(row.auto),
        _texts(row.tags),
        _facts(row.task),
    )


def _commit(row: Row[Any]) -> Commit:
    return Commit(
        sha=row.sha,
        committed_at=row.committed_at,
        authored_at=row.authored_at,
        generation=row.generation,
        parents=tuple(_text(row.parents).split()),
        author=row.author,
        subject=row.subject,
    )


def _facts(text: object) -> dict[str, Any]:
    found = _decoded(text)
    if not isinstance(found, dict):
        raise _damaged("facts are not a JSON object")
    return found


def _texts(text: object) -> tuple[str, ...]:
    found = _decoded(text)
    if not isinstance(found, list):
        raise _damaged("a list is not a JSON list")
    return tuple(str(each) for each in found)


def _decoded(text: object) -> object:
    try:
        return json.loads(_text(text))
    except (ValueError, RecursionError):
        raise _damaged("a text is not JSON") from None


def _text(value: object) -> str:
    """Return a value if it is text: SQLite accepts any type in any column."""
    if not isinstance(value, str):
        raise _damaged("a value is not text")
    return value


def _damaged(problem: str) -> StoreError:
    return StoreError(
        f"the store is damaged: {problem}",
        remedy="`photometer history verify` says what can still be read; restore a copy of the store.",
    )
