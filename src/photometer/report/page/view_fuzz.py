"""FuzzView: the map of a fuzz run as the page shows it: sentences, rows of cells, failures.

In: the records and the header of a results file of `photometer fuzz`, or a finished FuzzMap. Out: the view.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from photometer.analysis.fuzz_map import FuzzMap, make_map, verdict_of
from photometer.model.fuzz_trial import FuzzTrial
from photometer.model.records import from_record
from photometer.report.fuzz_text import table_of_trials
from photometer.report.tables.table import text_of

STANDINGS = {1: "slower", -1: "faster", 0: "same"}


@dataclasses.dataclass(frozen=True)
class FuzzFailure:
    title: str
    reason: str
    rebuild_line: str


@dataclasses.dataclass(frozen=True)
class FuzzView:
    statements: tuple[str, ...]
    headline: str
    findings: tuple[str, ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    failures: tuple[FuzzFailure, ...]
    found: FuzzMap
    notes: tuple[str, ...] = ()


def fuzz_view(found: FuzzMap, notes: Sequence[str] = ()) -> FuzzView:
    table = table_of_trials(found)
    cells = [tuple(text_of(row.cell(column), column) for column in table.columns) for row in table.rows]
    return FuzzView(
        statements=found.statements,
        headline=found.headline,
        findings=found.findings,
        heads=tuple(column.head for column in table.columns),
        rows=tuple((STANDINGS[verdict_of(trial)], row) for trial, row in zip(found.trials, cells, strict=True)),
        failures=tuple(_failure(trial) for trial in found.failed),
        found=found,
        notes=tuple(notes),
    )


def fuzz_view_of(records: Sequence[Mapping[str, Any]], header: Mapping[str, Any]) -> FuzzView | None:
    """Return the view; None if the file has no fuzz run."""
    trials = [from_record(FuzzTrial, record) for record in records if record["kind"] == FuzzTrial.KIND]
    if not trials:
        return None
    about = header.get("fuzz")
    about = about if isinstance(about, Mapping) else {}
    notes = [f"{len(trials)} inputs" + (f", seed {about['seed']}" if "seed" in about else "")]
    return fuzz_view(make_map(statements_of(about, trials), trials), notes)


def statements_of(about: Mapping[str, Any], trials: Sequence[FuzzTrial]) -> list[str]:
    """Return the statements that a file's header names; other words if it is damaged and names none."""
    count = max((len(trial.seconds_per_run) for trial in trials), default=1)
    return listed_texts(about, "statements") or ["a statement", "another"][: max(count, 1)]


def listed_texts(about: Mapping[str, Any], name: str) -> list[str] | None:
    """Return a list of a header as texts; None if there is none."""
    given = about.get(name)
    return [str(each) for each in given] if isinstance(given, list) else None


def _failure(trial: FuzzTrial) -> FuzzFailure:
    assert trial.failure is not None
    failure = trial.failure
    parameters = ", ".join(f"{name}={value}" for name, value in trial.params.items())
    return FuzzFailure(
        f"Input {trial.index}: {trial.text}",
        f"in {failure.where}: {failure.exception_type}: {failure.message} ({parameters})",
        trial.rebuild_line,
    )
