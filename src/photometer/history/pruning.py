"""Which runs to delete, and deleting them: their results, points, comparisons, and contents that only they had."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import sqlite3
from collections import Counter
from collections.abc import Collection, Sequence

from sqlalchemy import Engine, delete, exists, select, text

from photometer.errors import DefinitionError
from photometer.history import schema
from photometer.history.connection import guarded
from photometer.history.nouns import StoredRun
from photometer.history.store import Store

# Variables of one statement; SQLite allows 32,766.
_AT_ONCE = 500


@dataclasses.dataclass(frozen=True)
class Pruning:
    """A run is deleted if any of these is true of it."""

    before: int | None = None
    keep: int | None = None
    dirty: bool = False
    unfinished: bool = False
    run_ids: frozenset[int] = frozenset()

    @classmethod
    def parse(
        cls, *, before: str | None, keep: int | None, dirty: bool, unfinished: bool, run_ids: Collection[int]
    ) -> Pruning:
        """Return what options say; that none is given is an error: deleting everything must be asked for."""
        seconds = None
        if before is not None:
            try:
                day = datetime.datetime.fromisoformat(before)
            except ValueError as error:
                raise DefinitionError(f"{before!r} is no date", remedy="Write it as 2026-01-31.") from error
            seconds = int((day if day.tzinfo else day.replace(tzinfo=datetime.timezone.utc)).timestamp())
        if seconds is None and keep is None and not dirty and not unfinished and not run_ids:
            raise DefinitionError(
                "nothing says which runs to delete", remedy="Give --before, --keep, --dirty, --unfinished or --run."
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
    """Delete runs, all or none, and return how many contents went with them."""
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
    """Make the file smaller, unless somebody is using it just now."""
    connection = engine.raw_connection()
    try:
        # Outside of SQLAlchemy's transactions: SQLite refuses it inside of one.
        with contextlib.suppress(sqlite3.OperationalError):
            connection.cursor().execute("VACUUM")
    finally:
        connection.close()
