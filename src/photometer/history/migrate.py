"""Brings a store's tables to the newest schema, and refuses one that a newer photometer has changed.

In: an engine. Out: nothing, or a StoreError that says what to do. Several processes may do this at once.
"""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import inspect, select, text

from photometer.errors import StoreError
from photometer.history.connection import shown
from photometer.history.schema import REVISION, store_facts

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

SCRIPTS = Path(__file__).parent / "migrations"
VERSION_FACT = "written by"
# Any number, as long as nobody else's advisory lock in the same database has it.
_LOCK = 7_303_014


def stored_revision(connection: Connection) -> str | None:
    """Return the schema of a store, or None if the database has no tables of ours."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if revision is None else str(revision)


def check_or_upgrade(engine: Engine, *, create: bool) -> None:
    """Bring the tables to the newest schema.

    Make them if `create` allows it, upgrade older ones, and refuse newer ones.
    """
    with engine.connect() as connection:
        found = stored_revision(connection)
        if found == REVISION:
            return
        if found is None and not create:
            raise StoreError(
                f"{shown(engine.url)}: there is no history store",
                remedy="Make one with `photometer history create`, or check the path.",
            )
        _refuse_newer(connection, found)
        if found is None:
            _refuse_foreign(connection)
    upgrade(engine)


def check(engine: Engine) -> None:
    """Raise unless the tables are the newest; nothing is written."""
    with engine.connect() as connection:
        found = stored_revision(connection)
        _refuse_newer(connection, found)
        if found != REVISION:
            raise StoreError(
                f"{shown(engine.url)}: {'there is no history store' if found is None else 'is of an older schema'}",
                remedy="Make or upgrade it with `photometer history create`.",
            )


def upgrade(engine: Engine, revision: str = REVISION) -> None:
    """Carry out what is missing up to a schema, in one transaction; wait for a process that does the same."""
    from alembic import command

    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK})
        _refuse_newer(connection, stored_revision(connection))
        command.upgrade(config(connection), revision)
        connection.execute(store_facts.delete().where(store_facts.c.name == VERSION_FACT))
        connection.execute(store_facts.insert(), {"name": VERSION_FACT, "value": _version()})


def config(connection: Connection | None = None) -> Any:
    """Return Alembic's configuration for the scripts of this package."""
    from alembic.config import Config

    made = Config()
    made.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    made.attributes["connection"] = connection
    return made


def known_revisions() -> tuple[str, ...]:
    """Return all schemas, the oldest first."""
    from alembic.script import ScriptDirectory

    return tuple(script.revision for script in reversed(list(ScriptDirectory.from_config(config()).walk_revisions())))


def _refuse_newer(connection: Connection, found: str | None) -> None:
    if found is None or found in known_revisions():
        return
    writer = None
    if inspect(connection).has_table("store_facts"):
        writer = connection.execute(select(store_facts.c.value).where(store_facts.c.name == VERSION_FACT)).scalar()
    by = f"photometer {writer}" if writer else "a newer photometer"
    raise StoreError(
        f"{shown(connection.engine.url)}: was written by {by}, which keeps it in another way (schema {found}); "
        f"this is photometer {_version()} (schema {REVISION})",
        remedy="Upgrade photometer, or name another store. Nothing in it was changed.",
    )


def _refuse_foreign(connection: Connection) -> None:
    """Raise if the database has tables of another program."""
    others = sorted(set(inspect(connection).get_table_names()) - {"alembic_version"})
    if others:
        raise StoreError(
            f"{shown(connection.engine.url)}: holds tables of another program ({', '.join(others[:3])} …)",
            remedy="Name a database of its own for the store.",
        )


def _version() -> str:
    try:
        return importlib.metadata.version("photometer")
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version"
