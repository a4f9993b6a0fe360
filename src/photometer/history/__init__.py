"""History: results of many commits in one database, what changed between them, and which commit changed it.

`store.py` opens a store for reading; `recorder.py` writes results while they are measured, and adds results files.
SQLAlchemy and Alembic are the extra `photometer[history]`; nothing here is imported before a store is needed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from photometer.history.change_points import ChangePoint as ChangePoint, find_changes as find_changes
    from photometer.history.changes import Change as Change, changes_in as changes_in
    from photometer.history.nouns import (
        Added as Added,
        Benchmark as Benchmark,
        Curve as Curve,
        Metric as Metric,
        StoredComparison as StoredComparison,
        StoredRun as StoredRun,
    )
    from photometer.history.recorder import add_file as add_file
    from photometer.history.store import Store as Store, open_store as open_store

# Imported when first used: SQLAlchemy is an extra.
_HOME = {
    "Benchmark": "photometer.history.nouns",
    "Curve": "photometer.history.nouns",
    "Metric": "photometer.history.nouns",
    "StoredComparison": "photometer.history.nouns",
    "StoredRun": "photometer.history.nouns",
    "Added": "photometer.history.nouns",
    "Change": "photometer.history.changes",
    "ChangePoint": "photometer.history.change_points",
    "Store": "photometer.history.store",
    "add_file": "photometer.history.recorder",
    "changes_in": "photometer.history.changes",
    "find_changes": "photometer.history.change_points",
    "open_store": "photometer.history.store",
}

__all__ = [
    "Added",
    "Benchmark",
    "Change",
    "ChangePoint",
    "Curve",
    "Metric",
    "Store",
    "StoredComparison",
    "StoredRun",
    "add_file",
    "changes_in",
    "find_changes",
    "open_store",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'photometer.history' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)
