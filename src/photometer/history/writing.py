"""Writing into a store: names are given numbers once, records become results and points, each batch in one transaction.

In: an engine, headers and records. Out: Added. Whatever is written twice is there once; what is killed half-way is
complete up to its last batch, and adding it again completes it.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Table, and_, func, select, update

from photometer.history import schema
from photometer.history.contents import digest_of, pack
from photometer.history.identity import (
    BenchmarkIdentity,
    Fingerprint,
    benchmark_of,
    environment_fingerprint,
    kind_of,
    machine_fingerprint,
    result_id,
    run_key,
    started_at,
    suite_of,
)
from photometer.history.nouns import Added, Commit
from photometer.history.points import points_of

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

# A transaction of so many records takes some 50 ms: long beside its own cost, short beside what others wait.
BATCH = 1000


@dataclasses.dataclass(frozen=True)
class Origin:
    """Where a run comes from, as far as its header does not say: the project, the commits, the branch."""

    project: str = ""
    commit: Commit | None = None
    base_commit: Commit | None = None
    branch: str = ""
    is_dirty: bool = False
    source: str = ""


class RunWriter:
    """One run in a store. `add` writes records at once; what was written before is left alone."""

    def __init__(self, engine: Engine, header: Mapping[str, Any], origin: Origin, *, key: str = "") -> None:
        self._engine = engine
        self.key = key or run_key(header)
        self._benchmarks: dict[str, int] = {}
        # Records of a comparison's sides say nothing about one commit; those of a run do.
        self._draws_curves = kind_of(header) in ("run", "measurements")
        self._described: set[str] = set()
        self._metrics: dict[str, int] = {}
        self.run_id = self._open(header, origin)
        self._number = self._highest_number()

    def add(self, records: Sequence[Mapping[str, Any]]) -> Added:
        """Write records in one transaction. Those that the run already has change nothing."""
        rows = [self._row(record) for record in records]
        # Two records with the same content are one.
        by_id = {row.id: row for row in rows}
        with self._engine.connect().execution_options(writes=True) as connection, connection.begin():
            table = schema.results
            known = set(connection.scalars(select(table.c.id).where(table.c.id.in_(list(by_id)))))
            fresh = [row for row in by_id.values() if row.id not in known]
            new = self._write(connection, fresh) if fresh else 0
        return Added(self.run_id, new, len(records) - new)

    def finish(self) -> None:
        """Say that all there is to measure has been written."""
        with self._engine.connect().execution_options(writes=True) as connection, connection.begin():
            connection.execute(update(schema.runs).where(schema.runs.c.id == self.run_id).values(is_complete=True))

    def _write(self, connection: Connection, rows: Sequence[_Row]) -> int:
        # In the order of their keys: two writers that take locks in one order cannot wait for each other.
        contents = {row.digest: row.record for row in rows}
        table = schema.contents
        known = set(connection.scalars(select(table.c.digest).where(table.c.digest.in_(list(contents)))))
        packed = [{"digest": key, "data": pack(contents[key])} for key in sorted(contents) if key not in known]
        if packed:
            connection.execute(_insert(connection, table), packed)
        before = self._number
        results = []
        for row in rows:
            self._number += 1
            results.append(row.result(self.run_id, self._number))
        connection.execute(_insert(connection, schema.results), results)
        points = [point for row in rows for point in row.points(self.run_id)]
        if points:
            points.sort(key=lambda point: (point["benchmark_id"], point["metric_id"], point["result_id"]))
            connection.execute(_insert(connection, schema.points), points)
        comparisons = [row.comparison(self.run_id) for row in rows if row.is_comparison]
        if comparisons:
            connection.execute(_insert(connection, schema.comparisons), comparisons)
        return self._number - before

    def _row(self, record: Mapping[str, Any]) -> _Row:
        digest = digest_of(record)
        identity = benchmark_of(record)
        benchmark = None if identity is None else self._benchmark(identity)
        found = points_of(record) if benchmark is not None and self._draws_curves else ()
        return _Row(
            result_id(self.key, digest),
            digest,
            record,
            benchmark,
            tuple((self._metric(p.metric), p.value, p.low, p.high) for p in found),
        )

    def _open(self, header: Mapping[str, Any], origin: Origin) -> int:
        suite = suite_of(header)
        values = {
            "key": self.key,
            "kind": kind_of(header),
            "project_id": self._named(schema.projects, {"name": origin.project}),
            "commit_id": self._commit(origin.commit),
            "base_commit_id": self._commit(origin.base_commit),
            "branch": origin.branch,
            "is_dirty": origin.is_dirty,
            "machine_id": self._fingerprint(schema.machines, machine_fingerprint(header)),
            "environment_id": self._fingerprint(schema.environments, environment_fingerprint(header)),
            "suite_id": self._named(schema.suites, {"name": suite.name, "fingerprint": suite.fingerprint}),
            "started_at": started_at(header),
            "is_complete": False,
            "source": origin.source,
            "header": _json(header),
        }
        return self._named(schema.runs, {"key": self.key}, values)

    def _highest_number(self) -> int:
        table = schema.results
        with self._engine.connect() as connection:
            return int(connection.scalar(select(func.max(table.c.number)).where(table.c.run_id == self.run_id)) or 0)

    def _benchmark(self, identity: BenchmarkIdentity) -> int:
        if identity.key in self._described or (identity.key in self._benchmarks and not identity.label):
            return self._benchmarks[identity.key]
        values = _storable(
            {
                "key": identity.key,
                "title": identity.title,
                "label": _json(list(identity.label)),
                "auto": _json(identity.auto),
                "tags": _json(list(identity.tags)),
                "task": _json(identity.task),
            }
        )
        number = self._named(schema.benchmarks, {"key": values["key"]}, values)
        if identity.label:
            self._described.add(identity.key)
            self._describe(number, values)
        self._benchmarks[identity.key] = number
        return number

    def _describe(self, number: int, values: Mapping[str, Any]) -> None:
        """Give a benchmark its labels and tags if it was met without them (in a replicate), or with other tags."""
        table = schema.benchmarks
        wanted = {name: values[name] for name in ("title", "label", "auto", "tags", "task")}
        with self._engine.connect() as connection:
            found = connection.execute(select(table).where(table.c.id == number)).one()
        if found.label == "[]" or (found.tags != wanted["tags"] and wanted["tags"] != "[]"):
            with self._engine.connect().execution_options(writes=True) as connection, connection.begin():
                connection.execute(update(table).where(table.c.id == number).values(**wanted))

    def _metric(self, metric: Any) -> int:
        if metric.name not in self._metrics:
            self._metrics[metric.name] = self._named(schema.metrics, {"name": metric.name}, dataclasses.asdict(metric))
        return self._metrics[metric.name]

    def _commit(self, commit: Commit | None) -> int | None:
        if commit is None:
            return None
        values = {**dataclasses.asdict(commit), "parents": " ".join(commit.parents)}
        return self._named(schema.commits, {"sha": commit.sha}, values)

    def _fingerprint(self, table: Table, found: Fingerprint) -> int:
        values = {"fingerprint": found.digest, "name": found.name, "facts": _json(found.facts)}
        return self._named(table, {"fingerprint": found.digest}, values)

    def _named(self, table: Table, name: Mapping[str, Any], values: Mapping[str, Any] | None = None) -> int:
        """Return the number of what has this name, which is given one if it has none; in a transaction of its own."""
        wanted = select(table.c.id).where(and_(*(table.c[column] == value for column, value in name.items())))
        with self._engine.connect() as connection:
            found = connection.scalar(wanted)
        if found is None:
            with self._engine.connect().execution_options(writes=True) as connection, connection.begin():
                connection.execute(_insert(connection, table), [_storable(values or name)])
                found = connection.scalar(wanted)
        assert found is not None
        return int(found)


@dataclasses.dataclass(frozen=True)
class _Row:
    """A record on its way into the tables."""

    id: int
    digest: bytes
    record: Mapping[str, Any]
    benchmark_id: int | None
    values: tuple[tuple[int, float, float, float], ...]

    @property
    def is_comparison(self) -> bool:
        return self.record.get("kind") == "comparison" and self.benchmark_id is not None

    def result(self, run_id: int, number: int) -> dict[str, Any]:
        return {
            "id": self.id,
            "run_id": run_id,
            "benchmark_id": self.benchmark_id,
            "number": number,
            "kind": str(self.record.get("kind", "")),
            "digest": self.digest,
        }

    def points(self, run_id: int) -> Iterator[dict[str, Any]]:
        for metric_id, value, low, high in self.values:
            yield {
                "benchmark_id": self.benchmark_id,
                "metric_id": metric_id,
                "run_id": run_id,
                "result_id": self.id,
                "value": value,
                "low": low,
                "high": high,
            }

    def comparison(self, run_id: int) -> dict[str, Any]:
        verdict = self.record.get("verdict")
        judged = verdict if isinstance(verdict, Mapping) else {}
        ends = judged.get("interval")
        low, high = ends if isinstance(ends, list | tuple) and len(ends) == 2 else (None, None)
        return _storable(
            {
                "result_id": self.id,
                "run_id": run_id,
                "benchmark_id": self.benchmark_id,
                "verdict": str(judged.get("verdict", "")),
                "ratio": _number(judged.get("ratio")) or 1.0,
                "low": _number(low),
                "high": _number(high),
                "cause": str(self.record.get("cause", "")),
            }
        )


def add_records(
    engine: Engine,
    header: Mapping[str, Any],
    records: Iterable[Mapping[str, Any]],
    origin: Origin,
    *,
    finish: bool = True,
) -> Added:
    """Add a whole run, in batches."""
    ordered = list(records)
    writer = RunWriter(engine, header, origin, key=run_key(header, ordered[0] if ordered else None))
    new = 0
    for start in range(0, len(ordered), BATCH):
        new += writer.add(ordered[start : start + BATCH]).new
    if finish:
        writer.finish()
    return Added(writer.run_id, new, len(ordered) - new)


def _insert(connection: Connection, table: Table) -> Any:
    """Return an insert that leaves alone what is there already."""
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as insert_postgresql

        return insert_postgresql(table).on_conflict_do_nothing()
    from sqlalchemy.dialects.sqlite import insert

    return insert(table).on_conflict_do_nothing()


def _storable(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values whose text any database takes: PostgreSQL has no NUL, and neither has half characters."""
    return {name: _text(value) if isinstance(value, str) else value for name, value in values.items()}


def _text(value: str) -> str:
    return value.replace("\0", "\ufffd").encode("utf-8", "backslashreplace").decode("utf-8")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, sort_keys=False)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
