"""Stores to test with: SQLite in a temporary folder, and a real PostgreSQL if it is installed."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from photometer.history.store import Store, open_store
from tests.history.postgresql_server import NoPostgreSQL, running_postgresql

# Whoever has a server of their own names its database here, which is filled with schemas of its own.
VARIABLE = "PHOTOMETER_TEST_POSTGRESQL"


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a PostgreSQL database."""
    if given := os.environ.get(VARIABLE):
        yield given
        return
    try:
        with running_postgresql() as url:
            yield url
    except NoPostgreSQL as reason:
        pytest.skip(str(reason))


@pytest.fixture
def postgresql_place(postgresql: str) -> Iterator[str]:
    """The URL of an empty schema of its own in that database."""
    from sqlalchemy import create_engine, text

    name = f"test_{uuid.uuid4().hex[:12]}"
    engine = create_engine(postgresql, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE SCHEMA {name}"))
    yield f"{postgresql}{'&' if '?' in postgresql else '?'}options=-csearch_path%3D{name}"
    with engine.connect() as connection:
        connection.execute(text(f"DROP SCHEMA {name} CASCADE"))
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store can be made: both kinds, one after the other."""
    if request.param == "sqlite":
        return str(tmp_path / "history.sqlite")
    return str(request.getfixturevalue("postgresql_place"))


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    with open_store(place, create=True) as made:
        yield made
