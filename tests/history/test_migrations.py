"""Migrations make the tables that schema.py describes, from every released schema; newer stores are left alone."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from photometer.errors import StoreError
from photometer.history.connection import make_engine, parse_place
from photometer.history.schema import REVISION, known_revisions, metadata, upgrade
from photometer.history.store import open_store
from tests.history.records import counts, header, origin, times

# One dump per released schema, with a run in it, as `sqlite3 FILE .dump` writes it. Add one with each migration.
DATA = Path(__file__).parent / "data"


def test_the_newest_migration_is_the_schema(place: str) -> None:
    with open_store(place, create=True) as store, store.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_every_schema_has_a_dump_that_is_tested() -> None:
    assert known_revisions()[-1] == REVISION
    assert {path.stem.removeprefix("schema_") for path in DATA.glob("schema_*.sql")} == set(known_revisions())


@pytest.mark.parametrize("revision", known_revisions())
def test_a_store_of_an_older_schema_is_upgraded_with_all_that_is_in_it(revision: str, tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with sqlite3.connect(path) as old:
        old.executescript((DATA / f"schema_{revision}.sql").read_text(encoding="utf-8"))
    with open_store(path) as store:
        (run,) = store.runs()
        assert list(store.records(run.id)) == [times("work", 1e-6, samples=5), counts("work", 12_000)]
        assert {curve.metric.name for curve in store.all_curves()} >= {"instructions", "time"}
        # It can be written to as well, and knows what it has.
        assert store.add_run(header(), [counts("work", 12_000)], origin(0)).new == 0
        assert store.add_run(header("another"), [counts("work", 12_001)], origin(1)).new == 1


def test_a_store_of_a_newer_photometer_is_refused_and_not_touched(place: str) -> None:
    with open_store(place, create=True) as store:
        store.add_run(header(), [counts("work", 1)], origin(0))
        with store.engine.connect() as connection, connection.begin():
            connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
            connection.execute(text("UPDATE store_facts SET value = '7.5'"))
    for read_only in (False, True):
        with pytest.raises(StoreError, match=r"written by photometer 7\.5[\s\S]*schema 9999[\s\S]*Upgrade photometer"):
            open_store(place, create=True, read_only=read_only)
    engine = make_engine(parse_place(place))
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM results")) == 1
        assert connection.scalar(text("SELECT version_num FROM alembic_version")) == "9999"
    engine.dispose()


def test_tables_of_another_program_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE customers (name TEXT)")
    with pytest.raises(StoreError, match="tables of another program"):
        open_store(path, create=True)
    path.write_bytes(b"no database at all, but long enough to have a header of its own" * 40)
    with pytest.raises(StoreError, match="not a database"):
        open_store(path, create=True)


def test_an_upgrade_that_is_done_twice_is_done_once(tmp_path: Path) -> None:
    engine = make_engine(parse_place(tmp_path / "history.sqlite"))
    upgrade(engine)
    upgrade(engine)
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM store_facts")) == 1
    engine.dispose()
