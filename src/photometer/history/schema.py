"""The tables of a history store, as SQLAlchemy Core describes them. `migrations/` makes them; a test compares the two.

    projects ── runs ──┬── results ── contents         machines, environments, suites, commits: named once, by runs
                       ├── points (what curves are drawn from)
                       └── comparisons
    benchmarks ── results, points, comparisons

A result is one record of a results file. Its content is kept once per distinct content, compressed: counts that did not
change from commit to commit take no room. Ids of results are hashes, so that adding a record again changes nothing.
"""

from __future__ import annotations

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
)

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
