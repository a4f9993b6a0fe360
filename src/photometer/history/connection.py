"""Connections to a store's database: SQLite in a file, PostgreSQL by URL. Secrets never leave this module.

In: a path or a URL; if none is given, that of PHOTOMETER_STORE, then the project's own store. Out: an Engine that is
set up for many readers and writers, and `guarded()`, which turns every error of the database into a StoreError without
the password.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from photometer.errors import StoreError, ToolMissing
from photometer.session.remarks import remark

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine

import os

from photometer.history.repository import Repository

VARIABLE = "PHOTOMETER_STORE"
FOLDER = ".photometer"
FILE = "history.sqlite"


def project_place(folder: Path | None = None) -> Path | None:
    """Return the place of the project's store, which need not exist; None outside of a git repository."""
    repository = Repository.find(folder)
    return None if repository is None else repository.top / FOLDER / FILE


def find_place(given: str | None = None, folder: Path | None = None) -> str | None:
    """Return the path or URL of the store to use, or None if none is named and the project has none."""
    named = given or os.environ.get(VARIABLE)
    if named:
        return named
    own = project_place(folder)
    return str(own) if own is not None and own.exists() else None


def require_place(given: str | None = None, folder: Path | None = None) -> str:
    """Return the store to use; raise an error with a remedy if there is none."""
    place = find_place(given, folder)
    if place is None:
        raise StoreError(
            "there is no history store here",
            remedy=f"Make one with `photometer history create`, or name one with --store or {VARIABLE}.",
        )
    return place


def make_store(given: str | None = None, folder: Path | None = None) -> str:
    """Make the named store, or the project's, unless it exists; return its place."""
    from photometer.history.store import open_store

    place = given or os.environ.get(VARIABLE) or project_place(folder)
    if place is None:
        raise StoreError(
            "this folder lies in no git repository, so it has no project to keep a history of",
            remedy=f"Name a store with --store PATH or {VARIABLE}.",
        )
    text = str(place)
    with open_store(text, create=True) as store:
        shown = store.place
    if not is_url(text):
        _keep_private(Path(str(parse_place(text).database)))
    return shown


def _keep_private(path: Path) -> None:
    """Make git ignore the project's folder, and let only the owner read it; leave a user's own folder as it is."""
    if path.parent.name == FOLDER:
        path.parent.chmod(0o700)
        ignore = path.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")


# Eight writers that each hold the file for some milliseconds; a `prune` of millions of rows takes seconds.
BUSY_SECONDS = 60.0
# After waiting this long, a message says what for.
SILENT_SECONDS = 2.0
CONNECT_SECONDS = 10
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+]*://")
# Names of a URL's options whose values are secret.
_SECRET_OPTION = re.compile(r"pass|secret|token|key", re.IGNORECASE)
_HIDDEN = "***"


def is_url(place: str) -> bool:
    return _URL.match(place) is not None


def parse_place(place: str | Path) -> URL:
    """Return the database that a path or a URL names. A bare postgresql:// is read with psycopg 3."""
    try:
        from sqlalchemy import URL, exc, make_url
    except ImportError as error:
        raise ToolMissing(
            "a history store needs SQLAlchemy and Alembic, which are not installed",
            remedy="pip install 'photometer[history]'",
        ) from error
    text = str(place)
    if "\0" in text:
        raise StoreError("the path of the store contains a zero byte", remedy="Give a path, or a URL.")
    if not is_url(text):
        return URL.create("sqlite", database=str(Path(text).expanduser()))
    try:
        url = make_url(text)
    except (exc.ArgumentError, ValueError):
        # SQLAlchemy's message repeats the text, and the password with it.
        raise StoreError(
            "the store's URL is not valid", remedy="Give a path, or postgresql+psycopg://user@host/database."
        ) from None
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise StoreError(
            f"a store cannot be kept in {url.get_backend_name()}", remedy="Use a SQLite file or PostgreSQL."
        )
    return url


def shown(url: URL) -> str:
    """Return the place in a form that anyone may see: a path, or the URL without its secrets."""
    if url.get_backend_name() == "sqlite":
        return url.database or "in memory"
    options = {name: _HIDDEN if _SECRET_OPTION.search(name) else value for name, value in url.query.items()}
    return url.set(query=options).render_as_string(hide_password=True)


def without_secrets(text: str, place: str | Path) -> str:
    """Return the text with the secrets of a place, if it has any, hidden."""
    if not is_url(str(place)):
        return text
    try:
        url = parse_place(place)
    except (StoreError, ToolMissing):
        return text.replace(str(place), _HIDDEN)
    return _hide(text.replace(str(place), shown(url)), url)


def _hide(text: str, url: URL) -> str:
    values = [value for name, value in url.query.items() if _SECRET_OPTION.search(name)]
    secrets = [str(url.password or ""), *(str(value) for value in values)]
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    return text


def make_engine(url: URL, *, read_only: bool = False) -> Engine:
    from sqlalchemy import create_engine, event, exc

    if url.get_backend_name() == "postgresql":
        try:
            import psycopg  # noqa: F401 - only asked for, so that its absence is said in words
        except ImportError as error:
            raise ToolMissing(
                "a store in PostgreSQL needs psycopg, which is not installed",
                remedy="pip install 'photometer[postgresql]'",
            ) from error
        return create_engine(
            url, connect_args={"connect_timeout": CONNECT_SECONDS}, hide_parameters=True, pool_pre_ping=True
        )
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS}, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def set_up(connection: sqlite3.Connection, _: Any) -> None:
        # sqlite3's own idea of when a transaction begins leaves DDL outside; ours begin with BEGIN below.
        connection.isolation_level = None
        if not read_only:
            connection.execute("PRAGMA journal_mode = WAL")
        # In WAL, NORMAL loses nothing when a process is killed; a power cut may take the last moments.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA cache_size = -65536")
        if read_only:
            connection.execute("PRAGMA query_only = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        # A transaction that will write takes its lock at once: one that upgrades a read lock later may have to fail.
        if not connection.get_execution_options().get("writes"):
            connection.exec_driver_sql("BEGIN")
            return
        _wait_at_most(connection, SILENT_SECONDS)
        try:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        except exc.OperationalError as error:
            if "locked" not in str(error.orig):
                raise
            remark(f"{shown(url)}: another program is writing to it; waiting for up to {BUSY_SECONDS:g} s")
            _wait_at_most(connection, BUSY_SECONDS)
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        finally:
            _wait_at_most(connection, BUSY_SECONDS)

    return engine


def _wait_at_most(connection: Any, seconds: float) -> None:
    """Set how long SQLite waits for a lock. It waits in C, without a message."""
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {round(seconds * 1000)}")


@contextlib.contextmanager
def guarded(url: URL) -> Iterator[None]:
    """Turn errors of the database into StoreErrors without secrets; their chain is cut for the same reason."""
    from sqlalchemy import exc

    try:
        yield
    except exc.SQLAlchemyError as error:
        cause = error.orig if isinstance(error, exc.DBAPIError) and error.orig is not None else error
        lines = _hide(str(cause), url).strip().splitlines() or [type(cause).__name__]
        raise StoreError(f"{shown(url)}: {lines[0]}", log="\n".join(lines[1:]), remedy=_remedy(str(cause))) from None
    except UnicodeDecodeError:
        # SQLite repeats names of a damaged schema in its messages, and Python cannot decode those.
        raise StoreError(
            f"{shown(url)}: is damaged: its header or its schema contains bytes that are not text",
            remedy="Restore a copy of it, or make a new store and add the results files to it with `history add`.",
        ) from None


def _remedy(message: str) -> str:
    known = {
        "unable to open": "Check that the folder exists and is yours; `photometer history create` makes a store.",
        "not a database": "The file is not a photometer store; name another one.",
        "malformed": "The file is damaged. `photometer history verify` says what can still be read.",
        "readonly": "The file cannot be written to; check who owns it and its folder.",
        "read-only": "The file cannot be written to; check who owns it and its folder.",
        "locked": "Another program holds the file; try again when it is done.",
        "full": "Free some space on its disk; what was stored before is kept.",
        "connection": "Check that the server runs, its address, the user and the password.",
    }
    return next((remedy for words, remedy in known.items() if words in message.lower()), "")
