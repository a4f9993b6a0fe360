"""The first schema: runs, their results, points of curves, comparisons.

Revision: 0001, the first.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "store_facts",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_store_facts"),
    )
    _named("projects", "name")
    for table in ("machines", "environments"):
        _named(table, "fingerprint", _text("name"), _text("facts"))
    _named("suites", ("name", "fingerprint"))
    _named(
        "commits",
        "sha",
        _big("committed_at"),
        _big("authored_at"),
        sa.Column("generation", sa.Integer, nullable=False),
        _text("parents"),
        _text("author"),
        _text("subject"),
    )
    _named("benchmarks", "key", _text("title"), _text("label"), _text("auto"), _text("tags"), _text("task"))
    _named("metrics", "name", _text("unit"), sa.Column("is_exact", sa.Boolean, nullable=False))
    _create_runs()
    _create_results()
    _create_points()
    _create_comparisons()


def _create_runs() -> None:
    _named(
        "runs",
        "key",
        _text("kind"),
        _reference("runs", "project_id", "projects"),
        _reference("runs", "commit_id", "commits", nullable=True),
        _reference("runs", "base_commit_id", "commits", nullable=True),
        _text("branch"),
        sa.Column("is_dirty", sa.Boolean, nullable=False),
        _reference("runs", "machine_id", "machines"),
        _reference("runs", "environment_id", "environments"),
        _reference("runs", "suite_id", "suites"),
        _big("started_at"),
        sa.Column("is_complete", sa.Boolean, nullable=False),
        _text("source"),
        _text("header"),
    )
    op.create_index("ix_runs_project_id_runs_commit_id", "runs", ["project_id", "commit_id"])
    op.create_index("ix_runs_commit_id", "runs", ["commit_id"])


def _create_results() -> None:
    op.create_table(
        "contents",
        sa.Column("digest", sa.LargeBinary(16), nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_contents"),
    )
    op.create_table(
        "results",
        sa.Column("id", sa.BigInteger, nullable=False, autoincrement=False),
        _reference("results", "run_id", "runs"),
        _reference("results", "benchmark_id", "benchmarks", nullable=True),
        sa.Column("number", sa.Integer, nullable=False),
        _text("kind"),
        sa.Column(
            "digest",
            sa.LargeBinary(16),
            sa.ForeignKey("contents.digest", name="fk_results_digest_contents"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id", name="pk_results"),
    )
    op.create_index("ix_results_run_id", "results", ["run_id"])
    op.create_index("ix_results_digest", "results", ["digest"])


def _create_points() -> None:
    op.create_table(
        "points",
        _reference("points", "benchmark_id", "benchmarks"),
        sa.Column(
            "metric_id",
            sa.SmallInteger,
            sa.ForeignKey("metrics.id", name="fk_points_metric_id_metrics"),
            nullable=False,
        ),
        _reference("points", "run_id", "runs"),
        _big("result_id"),
        *(sa.Column(name, sa.Float(53), nullable=False) for name in ("value", "low", "high")),
        sa.PrimaryKeyConstraint("benchmark_id", "metric_id", "run_id", "result_id", name="pk_points"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_points_run_id", "points", ["run_id"])


def _create_comparisons() -> None:
    op.create_table(
        "comparisons",
        sa.Column("result_id", sa.BigInteger, nullable=False, autoincrement=False),
        _reference("comparisons", "run_id", "runs"),
        _reference("comparisons", "benchmark_id", "benchmarks"),
        _text("verdict"),
        sa.Column("ratio", sa.Float(53), nullable=False),
        sa.Column("low", sa.Float(53)),
        sa.Column("high", sa.Float(53)),
        _text("cause"),
        sa.PrimaryKeyConstraint("result_id", name="pk_comparisons"),
    )
    op.create_index("ix_comparisons_run_id", "comparisons", ["run_id"])
    op.create_index("ix_comparisons_benchmark_id", "comparisons", ["benchmark_id"])


def _named(table: str, unique: str | tuple[str, ...], *columns: sa.Column[Any]) -> None:
    """Create a table with a number as its key, and a name (of one or several columns) that is given once."""
    names = (unique,) if isinstance(unique, str) else unique
    op.create_table(
        table,
        sa.Column("id", sa.Integer, nullable=False),
        *(_text(name) for name in names),
        *columns,
        sa.PrimaryKeyConstraint("id", name=f"pk_{table}"),
        sa.UniqueConstraint(*names, name=f"uq_{table}_{'_'.join(names)}"),
    )


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False)


def _big(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False)


def _reference(table: str, name: str, other: str, *, nullable: bool = False) -> sa.Column[int]:
    key = sa.ForeignKey(f"{other}.id", name=f"fk_{table}_{name}_{other}")
    return sa.Column(name, sa.Integer, key, nullable=nullable)
