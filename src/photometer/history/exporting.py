"""Out of a store again: runs as the results files they came from, or all curves as CSV or JSON.

Files are written whole or not at all. Text of users is data in all three formats.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from photometer.errors import StoreError
from photometer.history.nouns import Curve, StoredRun
from photometer.history.store import Store
from photometer.model.results_format import FILE_END, encode_header, encode_record
from photometer.model.whole_file import not_written, write_text_whole, write_whole

COLUMNS = (
    "project",
    "benchmark",
    "key",
    "metric",
    "unit",
    "commit",
    "committed_at",
    "value",
    "low",
    "high",
    "machine",
    "environment",
    "run",
)


def export_runs(store: Store, folder: Path, *, commit: str | None = None) -> int:
    """Write a results file per run into a folder; return how many. `photometer history add` takes them again."""
    runs = store.runs(commit=commit)
    if not runs:
        raise StoreError("there are no such runs", remedy="`photometer history runs` shows them.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for run in runs:
            write_whole(folder / _file_name(run), _results_file(store, run))
    except OSError as error:
        raise not_written(folder, error, remedy="Name another folder.") from error
    return len(runs)


def _results_file(store: Store, run: StoredRun) -> bytes:
    header = store.run_header(run.id)
    lines = b",\n".join(encode_record(record) for record in store.records(run.id))
    return encode_header(header) + (b"\n" if lines else b"") + lines + FILE_END


def _file_name(run: StoredRun) -> str:
    commit = "no-commit" if run.commit is None else run.commit.short
    return f"run-{run.id:06d}-{commit}.json"


def export_curves(store: Store, path: Path, *, as_json: bool = False, expression: str | None = None) -> int:
    """Write every value of every curve; return how many."""
    ids = None if expression is None else [benchmark.id for benchmark in store.benchmarks(expression)]
    rows = [row for curve in store.all_curves(benchmark_ids=ids) for row in _rows(curve)]
    if as_json:
        text = json.dumps([dict(zip(COLUMNS, row, strict=True)) for row in rows], indent=0) + "\n"
    else:
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([_harmless(cell) for cell in row] for row in rows)
        text = buffer.getvalue()
    write_text_whole(path, text)
    return len(rows)


def _rows(curve: Curve) -> Iterator[tuple[Any, ...]]:
    for point in curve.points:
        yield (
            curve.project,
            curve.benchmark.title,
            curve.benchmark.key,
            curve.metric.name,
            curve.metric.unit,
            point.commit.sha,
            point.commit.committed_at,
            point.value,
            point.low,
            point.high,
            curve.machine.fingerprint,
            curve.environment.fingerprint,
            point.run_id,
        )


def _harmless(cell: Any) -> Any:
    """Return a cell that a spreadsheet does not take for a formula."""
    return "'" + cell if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell
