"""Examines a store: whether it opens, is whole, what it holds, and what is wrong with it. It only reads."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from sqlalchemy import func, select, text

from photometer.errors import PhotometerError
from photometer.history import schema
from photometer.history.connection import guarded, parse_place
from photometer.history.contents import unpack
from photometer.history.store import Store, open_store
from photometer.model.memory_measurement import format_bytes

# Records that are unpacked to see whether they are whole: a sample, spread over all.
SAMPLED = 500


@dataclasses.dataclass(frozen=True)
class Examination:
    """Lines of facts, and of problems with what to do about them."""

    facts: tuple[str, ...]
    problems: tuple[str, ...]


def examine(place: str) -> Examination:
    """Open the store and look at all of it."""
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
    """Return what the database itself finds wrong, and results whose content is gone."""
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
    words = f"{problems} of {len(looked_at)} records looked at cannot be unpacked; add their results files anew"
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
