"""Upkeep of a store: prune old runs unless something refers to them, verify that it is intact, and export from it.

Verifying only reads: whether the store opens, what it contains, and what is damaged. An export writes runs as the
results files they came from, or all curves as a table.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, delete, exists, func, select, text

from photometer.errors import DefinitionError, PhotometerError, StoreError
from photometer.history import schema
from photometer.history.connection import guarded, parse_place
from photometer.history.contents import unpack
from photometer.history.nouns import Curve, StoredRun
from photometer.history.store import Store, open_store
from photometer.model.results_format import FILE_END, encode_header, encode_record
from photometer.model.units import format_bytes
from photometer.model.whole_file import not_written, write_whole
from photometer.report.tables.formats import JSON, Format
from photometer.report.tables.table import table_of_records

COLUMNS = (
    "project",
    "benchmark",
    "key",
    "metric",
    "unit",
    "commit",
    "committed_at",
    "value",
    "low",
    "high",
    "machine",
    "environment",
    "run",
)


def export_runs(store: Store, folder: Path, *, commit: str | None = None) -> int:
    """Write a results file per run into a folder; return how many. `photometer history add` takes them again."""
    runs = store.runs(commit=commit)
    if not runs:
        raise StoreError("there are no such runs", remedy="`photometer history runs` shows them.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for run in runs:
            write_whole(folder / _file_name(run), _results_file(store, run))
    except OSError as error:
        raise not_written(folder, error, remedy="Name another folder.") from error
    return len(runs)


def _results_file(store: Store, run: StoredRun) -> bytes:
    header = store.run_header(run.id)
    lines = b",\n".join(encode_record(record) for record in store.records(run.id))
    return encode_header(header) + (b"\n" if lines else b"") + lines + FILE_END


def _file_name(run: StoredRun) -> str:
    commit = "no-commit" if run.commit is None else run.commit.short
    return f"run-{run.id:06d}-{commit}.json"


def render_curves(store: Store, format: Format, expression: str | None = None) -> str:
    """Return every value of every curve; JSON is a list of objects."""
    ids = None if expression is None else [benchmark.id for benchmark in store.benchmarks(expression)]
    curves = store.all_curves(benchmark_ids=ids)
    records = [dict(zip(COLUMNS, row, strict=True)) for curve in curves for row in _rows(curve)]
    if format is JSON:
        return json.dumps(records, indent=0) + "\n"
    return format.render(table_of_records(records, COLUMNS))


def _rows(curve: Curve) -> Iterator[tuple[Any, ...]]:
    for point in curve.points:
        yield (
            curve.project,
            curve.benchmark.title,
            curve.benchmark.key,
            curve.metric.name,
            curve.metric.unit,
            point.commit.sha,
            point.commit.committed_at,
            point.value,
            point.low,
            point.high,
            curve.machine.fingerprint,
            curve.environment.fingerprint,
            point.run_id,
        )


# Variables of one statement; SQLite allows 32,766.
_AT_ONCE = 500


@dataclasses.dataclass(frozen=True)
class Pruning:
    """A run is deleted if any of these conditions holds."""

    before: int | None = None
    keep: int | None = None
    dirty: bool = False
    unfinished: bool = False
    run_ids: frozenset[int] = frozenset()

    @classmethod
    def parse(
        cls, *, before: str | None, keep: int | None, dirty: bool, unfinished: bool, run_ids: Collection[int]
    ) -> Pruning:
        """Return the conditions of options; having none is an error, because deleting everything must be explicit."""
        seconds = None
        if before is not None:
            try:
                day = datetime.datetime.fromisoformat(before)
            except ValueError as error:
                raise DefinitionError(f"{before!r} is not a date", remedy="Write it as 2026-01-31.") from error
            seconds = int((day if day.tzinfo else day.replace(tzinfo=datetime.timezone.utc)).timestamp())
        if seconds is None and keep is None and not dirty and not unfinished and not run_ids:
            raise DefinitionError(
                "no condition selects runs to delete",
                remedy="Give --before, --keep, --dirty, --unfinished or --run.",
            )
        return cls(seconds, keep, dirty, unfinished, frozenset(run_ids))


def choose(store: Store, wanted: Pruning) -> list[StoredRun]:
    """Return the runs to delete, the newest first."""
    seen: Counter[tuple[object, ...]] = Counter()
    chosen = []
    for run in store.runs():
        alike = (run.kind, run.project, run.commit, run.base_commit, run.is_dirty, run.machine.id, run.suite)
        seen[alike] += 1
        if (
            run.id in wanted.run_ids
            or (wanted.before is not None and run.started_at < wanted.before)
            or (wanted.keep is not None and seen[alike] > wanted.keep)
            or (wanted.dirty and run.is_dirty)
            or (wanted.unfinished and not run.is_complete)
        ):
            chosen.append(run)
    return chosen


def delete_runs(store: Store, run_ids: Sequence[int]) -> int:
    """Delete runs, all or none, and return how many contents were deleted with them."""
    engine = store.engine
    with (
        guarded(engine.url),
        engine.connect().execution_options(writes=True) as connection,
        connection.begin(),
    ):
        if connection.dialect.name == "postgresql":
            # A writer that has just found a content to be there must not lose it.
            connection.execute(text("LOCK TABLE contents, results IN SHARE ROW EXCLUSIVE MODE"))
        for start in range(0, len(run_ids), _AT_ONCE):
            some = list(run_ids[start : start + _AT_ONCE])
            for table in (schema.comparisons, schema.points, schema.results):
                connection.execute(delete(table).where(table.c.run_id.in_(some)))
            connection.execute(delete(schema.runs).where(schema.runs.c.id.in_(some)))
        used = exists(select(schema.results.c.id).where(schema.results.c.digest == schema.contents.c.digest))
        freed = connection.execute(delete(schema.contents).where(~used)).rowcount
    if engine.dialect.name == "sqlite":
        _give_back_room(engine)
    return int(freed)


def _give_back_room(engine: Engine) -> None:
    """Make the file smaller, unless it is in use."""
    connection = engine.raw_connection()
    try:
        # Outside of SQLAlchemy's transactions: SQLite refuses it inside of one.
        with contextlib.suppress(sqlite3.OperationalError):
            connection.cursor().execute("VACUUM")
    finally:
        connection.close()


# Records that are unpacked to see whether they are whole: a sample, spread over all.
SAMPLED = 500


@dataclasses.dataclass(frozen=True)
class Examination:
    """Lines of facts, and of problems with what to do about them."""

    facts: tuple[str, ...]
    problems: tuple[str, ...]


def examine(place: str) -> Examination:
    """Open the store and check all of it."""
    with open_store(place, read_only=True) as store, guarded(store.engine.url):
        facts = [f"store: {store.place}", f"schema: {schema.REVISION}", *_facts(store)]
        problems = [*_unsound(store), *_damaged(store), *_exposed(place)]
    return Examination(tuple(facts), tuple(problems))


def _facts(store: Store) -> list[str]:
    lines = []
    with store.engine.connect() as connection:
        for table in (schema.runs, schema.commits, schema.benchmarks, schema.results, schema.contents, schema.points):
            lines.append(f"{table.name}: {connection.scalar(select(func.count()).select_from(table)):,}")
        for machine in connection.execute(select(schema.machines.c.name, schema.machines.c.fingerprint)):
            lines.append(f"machine: {machine.name} ({machine.fingerprint})")
        if connection.dialect.name == "sqlite":
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar() or 0
            size = connection.exec_driver_sql("PRAGMA page_size").scalar() or 0
            lines.append(f"size: {format_bytes(int(pages) * int(size))}")
        else:
            size = connection.scalar(text("SELECT pg_database_size(current_database())")) or 0
            lines.append(f"size: {format_bytes(int(size))}")
    unfinished = [run.id for run in store.runs() if not run.is_complete]
    if unfinished:
        lines.append(f"runs under way or stopped: {len(unfinished)}")
    return lines


def _unsound(store: Store) -> list[str]:
    """Return errors that the database itself finds, and results whose content is gone."""
    problems = []
    with store.engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            found = connection.exec_driver_sql("PRAGMA quick_check").scalars().all()
            if list(found) != ["ok"]:
                problems.append(f"the file is damaged: {found[0]}; copy what `history export` can read to a new store")
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
            if broken:
                problems.append(f"{len(broken)} rows refer to others that are gone")
        table, contents = schema.results, schema.contents
        query = (
            select(func.count())
            .select_from(table.outerjoin(contents, table.c.digest == contents.c.digest))
            .where(contents.c.digest.is_(None))
        )
        if lost := connection.scalar(query):
            problems.append(f"{lost} results have lost their content; `history prune --run N` deletes their runs")
    return problems


def _damaged(store: Store) -> list[str]:
    """Unpack all records of a small store; of a large one a sample, spread evenly over their digests."""
    table = schema.contents
    with store.engine.connect() as connection:
        count = connection.scalar(select(func.count()).select_from(table)) or 0
        if count <= SAMPLED:
            looked_at = list(connection.scalars(select(table.c.data)))
        else:
            starts = [(place * 2**32 // SAMPLED).to_bytes(4, "big") for place in range(SAMPLED)]
            query = select(table.c.data).order_by(table.c.digest).limit(1)
            found = [connection.scalar(query.where(table.c.digest >= start)) for start in starts]
            looked_at = [data for data in found if data is not None]
    problems = sum(not _is_whole(data) for data in looked_at)
    words = f"{problems} of {len(looked_at)} records looked at cannot be unpacked; add their results files again"
    return [words] if problems else []


def _is_whole(data: bytes) -> bool:
    try:
        unpack(data)
    except PhotometerError:
        return False
    return True


def _exposed(place: str) -> list[str]:
    url = parse_place(place)
    if url.get_backend_name() != "sqlite":
        return []
    path = Path(url.database or "")
    if path.exists() and path.stat().st_mode & 0o022:
        return [f"{path}: others may write to it; chmod go-w {path}"]
    return []
