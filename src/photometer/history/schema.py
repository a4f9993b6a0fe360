"""The tables of a history store, as SQLAlchemy Core describes them, and how a store comes to have them.

    projects ── runs ──┬── results ── contents         machines, environments, suites, commits: named once, by runs
                       ├── points (what curves are drawn from)
                       └── comparisons
    benchmarks ── results, points, comparisons

A result is one record of a results file. Its content is kept once per distinct content, compressed: counts that did not
change from commit to commit take no room. Ids of results are hashes, so that adding a record again changes nothing.

`migrations/` makes the tables; a test compares the two. `check_or_upgrade` brings those of an older store to the newest
schema, and refuses a store that a newer photometer has changed. Several processes may do this at once.
"""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    inspect,
    select,
    text,
)

from photometer.errors import StoreError
from photometer.history.connection import shown

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

# The newest migration in migrations/versions; raise it with each one that is added.
REVISION = "0001"

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_N_label)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# Facts of the store itself, such as the version of photometer that last changed its tables.
store_facts = Table(
    "store_facts",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

projects = Table(
    "projects",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
)

machines = Table(
    "machines",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("fingerprint", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("facts", Text, nullable=False),  # JSON: what the fingerprint is made of
)

environments = Table(
    "environments",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("fingerprint", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("facts", Text, nullable=False),  # JSON
)

suites = Table(
    "suites",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    UniqueConstraint("name", "fingerprint"),
)

commits = Table(
    "commits",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("sha", Text, nullable=False, unique=True),
    Column("committed_at", BigInteger, nullable=False),  # seconds since 1970
    Column("authored_at", BigInteger, nullable=False),
    # How many ancestors it has: the order of commits of one second. 0 if unknown (a shallow clone).
    Column("generation", Integer, nullable=False),
    Column("parents", Text, nullable=False),  # full names, with spaces between them
    Column("author", Text, nullable=False),
    Column("subject", Text, nullable=False),
)

benchmarks = Table(
    "benchmarks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", Text, nullable=False, unique=True),  # the order's id: a hash of its label and code
    Column("title", Text, nullable=False),
    Column("label", Text, nullable=False),  # JSON list
    Column("auto", Text, nullable=False),  # JSON object of automatic labels
    Column("tags", Text, nullable=False),  # JSON list
    Column("task", Text, nullable=False),  # JSON: statement, set-up, threads
)

metrics = Table(
    "metrics",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("unit", Text, nullable=False),
    Column("is_exact", Boolean, nullable=False),
)

runs = Table(
    "runs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),  # run, compare, ab, measurements
    Column("project_id", Integer, ForeignKey("projects.id"), nullable=False),
    Column("commit_id", Integer, ForeignKey("commits.id")),
    Column("base_commit_id", Integer, ForeignKey("commits.id")),  # of a comparison
    Column("branch", Text, nullable=False),
    Column("is_dirty", Boolean, nullable=False),
    Column("machine_id", Integer, ForeignKey("machines.id"), nullable=False),
    Column("environment_id", Integer, ForeignKey("environments.id"), nullable=False),
    Column("suite_id", Integer, ForeignKey("suites.id"), nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("is_complete", Boolean, nullable=False),
    Column("source", Text, nullable=False),  # the name of the file it came from, or "live"
    Column("header", Text, nullable=False),  # JSON: the head of its results file
    Index(None, "project_id", "commit_id"),
    Index(None, "commit_id"),
)

contents = Table(
    "contents",
    metadata,
    Column("digest", LargeBinary(16), primary_key=True),
    Column("data", LargeBinary, nullable=False),
)

results = Table(
    "results",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("run_id", Integer, ForeignKey("runs.id"), nullable=False),
    Column("benchmark_id", Integer, ForeignKey("benchmarks.id")),
    Column("number", Integer, nullable=False),  # its place among the records of the run
    Column("kind", Text, nullable=False),
    Column("digest", LargeBinary(16), ForeignKey("contents.digest"), nullable=False),
    Index(None, "run_id"),
    Index(None, "digest"),
)

points = Table(
    "points",
    metadata,
    Column("benchmark_id", Integer, ForeignKey("benchmarks.id"), nullable=False),
    Column("metric_id", SmallInteger, ForeignKey("metrics.id"), nullable=False),
    Column("run_id", Integer, ForeignKey("runs.id"), nullable=False),
    Column("result_id", BigInteger, nullable=False),
    Column("value", Float(53), nullable=False),
    Column("low", Float(53), nullable=False),
    Column("high", Float(53), nullable=False),
    PrimaryKeyConstraint("benchmark_id", "metric_id", "run_id", "result_id"),
    Index(None, "run_id"),
    # SQLite: rows lie in the order of the key, so that a curve is read from few pages.
    sqlite_with_rowid=False,
)

comparisons = Table(
    "comparisons",
    metadata,
    Column("result_id", BigInteger, primary_key=True, autoincrement=False),
    Column("run_id", Integer, ForeignKey("runs.id"), nullable=False),
    Column("benchmark_id", Integer, ForeignKey("benchmarks.id"), nullable=False),
    Column("verdict", Text, nullable=False),
    Column("ratio", Float(53), nullable=False),
    Column("low", Float(53)),
    Column("high", Float(53)),
    Column("cause", Text, nullable=False),
    Index(None, "run_id"),
    Index(None, "benchmark_id"),
)


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
