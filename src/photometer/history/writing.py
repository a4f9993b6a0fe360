"""Write into a store: give names numbers once, turn records into results and points, each batch in one transaction.

In: an engine, headers and records. Out: Added. A record that is written twice is stored once; a write that was killed
is complete up to its last batch, and adding the file again completes it.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from sqlalchemy import Table, and_, func, select, text, update

from photometer.history import schema
from photometer.history.contents import digest_of, pack
from photometer.history.identity import (
    BenchmarkIdentity,
    Fingerprint,
    benchmark_of,
    environment_fingerprint,
    kind_of,
    machine_fingerprint,
    order_key,
    result_id,
    run_key,
    started_at,
    suite_of,
)
from photometer.history.nouns import Added, Commit
from photometer.history.points import points_of

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

# A transaction of this many records takes some 30 ms: long beside its own cost, short beside what others wait.
BATCH = 250


@dataclasses.dataclass(frozen=True)
class Origin:
    """The origin of a run, if its header does not have it: the project, the commits, the branch."""

    project: str = ""
    commit: Commit | None = None
    base_commit: Commit | None = None
    branch: str = ""
    is_dirty: bool = False
    source: str = ""

    def as_header(self) -> dict[str, str]:
        """Return these as fields of a results file, so that the file can be added later, too."""
        if self.commit is None:
            return {}
        return {"commit": self.commit.sha, "project": self.project, "branch_name": self.branch}


class RunWriter:
    """One run in a store. `add` writes records at once; what was written before is left alone."""

    def __init__(self, engine: Engine, header: Mapping[str, Any], origin: Origin, *, key: str = "") -> None:
        self._engine = engine
        self.key = key or run_key(header)
        self._benchmarks: dict[str, int] = {}
        # Records of a comparison's sides say nothing about one commit; those of a run do.
        self._draws_curves = kind_of(header) in ("run", "measurements")
        self._described: set[str] = set()
        self._open_ones: dict[str, BenchmarkIdentity] = {}
        self._metrics: dict[str, int] = {}
        self.run_id = self._open(header, origin)
        self._number = self._highest_number()

    def add(self, records: Sequence[Mapping[str, Any]]) -> Added:
        """Write records in one transaction. Records that the run already has change nothing."""
        new = self._write_new(self._rows(records))
        return Added(self.run_id, new, len(records) - new)

    def add_batches(self, records: Sequence[Mapping[str, Any]]) -> Added:
        """Write many records, a transaction per batch; one is prepared while the one before it is written."""
        new = 0
        with ThreadPoolExecutor(1) as writing:
            pending: list[Future[int]] = []
            for start in range(0, len(records), BATCH):
                rows = self._rows(records[start : start + BATCH])
                # At most one waits: a million records at once would take gigabytes.
                new += sum(future.result() for future in pending)
                pending = [writing.submit(self._write_new, rows)]
            new += sum(future.result() for future in pending)
        return Added(self.run_id, new, len(records) - new)

    def _rows(self, records: Sequence[Mapping[str, Any]]) -> dict[int, _Row]:
        """Return records ready to be written; two with the same content are one."""
        keys = [self._key(record) for record in records]
        self._resolve()
        rows = [self._row(record, key) for record, key in zip(records, keys, strict=True)]
        return {row.id: row for row in rows}

    def _write_new(self, by_id: Mapping[int, _Row]) -> int:
        with self._engine.connect().execution_options(writes=True) as connection, connection.begin():
            table = schema.results
            known = set(connection.scalars(select(table.c.id).where(table.c.id.in_(list(by_id)))))
            fresh = [row for row in by_id.values() if row.id not in known]
            return self._write(connection, fresh) if fresh else 0

    def finish(self) -> None:
        """Mark the run as completely written."""
        with self._engine.connect().execution_options(writes=True) as connection, connection.begin():
            connection.execute(update(schema.runs).where(schema.runs.c.id == self.run_id).values(is_complete=True))

    def _write(self, connection: Connection, rows: Sequence[_Row]) -> int:
        # In the order of their keys: two writers that take locks in one order cannot wait for each other.
        contents = {row.digest: row.record for row in rows}
        table = schema.contents
        known = set(connection.scalars(select(table.c.digest).where(table.c.digest.in_(list(contents)))))
        packed = [{"digest": key, "data": pack(contents[key])} for key in sorted(contents) if key not in known]
        _insert(connection, table, packed)
        before = self._number
        results = []
        for row in rows:
            self._number += 1
            results.append(row.result(self.run_id, self._number))
        _insert(connection, schema.results, results)
        points = [point for row in rows for point in row.points(self.run_id)]
        points.sort(key=lambda point: (point["benchmark_id"], point["metric_id"], point["result_id"]))
        _insert(connection, schema.points, points)
        _insert(connection, schema.comparisons, [row.comparison(self.run_id) for row in rows if row.is_comparison])
        return self._number - before

    def _key(self, record: Mapping[str, Any]) -> str | None:
        """Return the benchmark of a record; an unknown one, or one without labels, is kept for later."""
        key = order_key(record)
        if key in self._described or (key in self._open_ones and self._open_ones[key].label):
            return key
        identity = benchmark_of(record)
        if identity is None:
            return None
        is_better = identity.label and identity.key not in self._described
        if is_better or (identity.key not in self._benchmarks and identity.key not in self._open_ones):
            self._open_ones[identity.key] = identity
        return identity.key

    def _row(self, record: Mapping[str, Any], key: str | None) -> _Row:
        digest = digest_of(record)
        benchmark = None if key is None else self._benchmarks[key]
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

    def _resolve(self) -> None:
        """Give numbers to benchmarks that are new to this writer, and labels to those that had none."""
        open_ones, self._open_ones = self._open_ones, {}
        rows = {key: _benchmark_row(open_ones[key]) for key in sorted(open_ones)}
        if not rows:
            return
        found = self._stored_benchmarks(rows)
        if missing := [row for row in rows.values() if row["key"] not in found]:
            with self._engine.connect().execution_options(writes=True) as connection, connection.begin():
                _insert(connection, schema.benchmarks, missing)
            found = self._stored_benchmarks(rows)
        for key, row in rows.items():
            stored = found[row["key"]]
            self._benchmarks[key] = stored.id
            if open_ones[key].label:
                self._described.add(key)
                if stored.label == "[]" or (stored.tags != row["tags"] and row["tags"] != "[]"):
                    self._describe(stored.id, row)

    def _stored_benchmarks(self, rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        table = schema.benchmarks
        columns = (table.c.id, table.c.key, table.c.label, table.c.tags)
        keys = [row["key"] for row in rows.values()]
        with self._engine.connect() as connection:
            return {row.key: row for row in connection.execute(select(*columns).where(table.c.key.in_(keys)))}

    def _describe(self, number: int, row: Mapping[str, Any]) -> None:
        table = schema.benchmarks
        with self._engine.connect().execution_options(writes=True) as connection, connection.begin():
            connection.execute(update(table).where(table.c.id == number).values(**row))

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
        """Return the number of this name; a new one is added in a transaction of its own."""
        parts = (table.c[column] == value for column, value in _storable(name).items())
        wanted = select(table.c.id).where(and_(*parts))
        with self._engine.connect() as connection:
            found = connection.scalar(wanted)
        if found is None:
            with self._engine.connect().execution_options(writes=True) as connection, connection.begin():
                _insert(connection, table, [_storable(values or name)])
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
            "kind": _text(str(self.record.get("kind", ""))),
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
    added = writer.add_batches(ordered)
    if finish:
        writer.finish()
    return added


def _benchmark_row(identity: BenchmarkIdentity) -> dict[str, Any]:
    return _storable(
        {
            "key": identity.key,
            "title": identity.title,
            "label": _json(list(identity.label)),
            "auto": _json(identity.auto),
            "tags": _json(list(identity.tags)),
            "task": _json(identity.task),
        }
    )


def _insert(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows with the same columns; existing ones are left alone."""
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        # One array per column: three times as fast as a statement per row.
        types = {name: table.c[name].type.compile(connection.dialect) for name in rows[0]}
        arrays = ", ".join(f"CAST(:{name} AS {type_name}[])" for name, type_name in types.items())
        statement = (
            f"INSERT INTO {table.name} ({', '.join(types)}) SELECT * FROM unnest({arrays}) ON CONFLICT DO NOTHING"
        )
        connection.execute(text(statement), {name: _array([row[name] for row in rows]) for name in types})
        return
    from sqlalchemy.dialects.sqlite import insert

    connection.execute(insert(table).on_conflict_do_nothing(), list(rows))


def _array(values: Sequence[Any]) -> str:
    """Return values as PostgreSQL writes an array; psycopg's own way to write one takes four times as long."""
    return "{" + ",".join([_element(value) for value in values]) + "}"


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f'"\\\\x{value.hex()}"'
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return repr(value)


def _storable(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values whose text every database accepts: PostgreSQL has no NUL, and no database half characters."""
    return {name: _text(value) if isinstance(value, str) else value for name, value in values.items()}


def _text(value: str) -> str:
    return value.replace("\0", "\ufffd").encode("utf-8", "backslashreplace").decode("utf-8")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, sort_keys=False)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
