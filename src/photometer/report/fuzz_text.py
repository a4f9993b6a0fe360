"""The map of a fuzz run as text for terminals and logs: findings, both ends of the list of inputs, and failures.

In: a FuzzMap. Out: one string. The table of inputs is also what the page shows (`page/view_fuzz.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from photometer.analysis.fuzz_map import FuzzMap, figure_of
from photometer.model.fuzz_trial import FuzzTrial
from photometer.model.visible_text import visible
from photometer.report.tables.as_text import render_text
from photometer.report.tables.table import STAYS, Cell, Column, Kind, Mark, Row, Table, Value, row_of, table_of
from photometer.report.text_width import wrap

# Rows shown from each end of the list; the page and the file have all of them.
ROWS_AT_EACH_END = 8
# Failures shown in full; further ones usually have the same cause.
FAILURES_SHOWN = 5
NARROWEST = 40
_INPUT = Column("input", "what it is", Kind.NAME)
COLUMNS = (
    Column("index", "input", Kind.COUNT, priority=STAYS),
    Column("seconds_per_element", "per element", Kind.TIME, priority=STAYS),
    Column("seconds", "time", Kind.TIME),
    _INPUT,
)
COMPARED_COLUMNS = (
    Column("index", "input", Kind.COUNT, priority=STAYS),
    Column("ratio", "ratio", Kind.RATIO, priority=STAYS),
    Column("standard_error", "±", Kind.SHARE),
    Column("seconds", "time", Kind.TIME),
    Column("other_seconds", "against", Kind.TIME, priority=2),
    _INPUT,
)


def render_fuzz_text(found: FuzzMap, width: int | None = None, rows_at_each_end: int = ROWS_AT_EACH_END) -> str:
    """Return the whole text. `width` is that of the terminal; None means 100."""
    limit = max(width or 100, NARROWEST)
    lines = [*_head(found, limit), ""]
    if found.trials:
        table = table_of_trials(found, rows_at_each_end)
        lines += [*render_text(table, limit, indent="  ").splitlines(), ""]
    lines += _failures(found, limit)
    return "\n".join(line.rstrip() for line in lines).rstrip() + "\n"


def table_of_trials(found: FuzzMap, at_each_end: int | None = None) -> Table:
    """Return a row per input; with `at_each_end`, only so many from both ends of the list."""
    skipped = 0 if at_each_end is None else max(len(found.trials) - 2 * at_each_end, 0)
    rows = [_row(found, trial) for trial in found.trials]
    if at_each_end is not None and skipped:
        gap = row_of({"input": Cell(text=f"… {skipped} more …", mark=Mark.FAINT)})
        rows = [*rows[:at_each_end], gap, *rows[len(rows) - at_each_end :]]
    return table_of(COMPARED_COLUMNS if found.is_comparison else COLUMNS, rows)


def _row(found: FuzzMap, trial: FuzzTrial) -> Row:
    times = dict(zip(("seconds", "other_seconds"), trial.seconds_per_run, strict=False))
    cells: dict[str, Cell | Value] = {"index": Cell(trial.index, f"#{trial.index}"), **times}
    if trial.log_ratio is None:
        cells["seconds_per_element"] = math.exp(figure_of(trial))
    else:
        cells |= {"ratio": math.exp(trial.log_ratio), "standard_error": trial.standard_error or 0.0}
    return row_of({**cells, "input": found.describe(trial)})


def _head(found: FuzzMap, limit: int) -> Iterator[str]:
    yield from wrap(_one_line(found.statements[0]), limit)
    for other in found.statements[1:]:
        yield from wrap(f"  against {_one_line(other)}", limit)
    yield ""
    yield from wrap(found.headline, limit)
    for finding in found.findings:
        first, *more = wrap(visible(finding), limit - 2)
        yield f"- {first}"
        yield from (f"  {line}" for line in more)


def _failures(found: FuzzMap, limit: int) -> Iterator[str]:
    if not found.failed:
        return
    count = len(found.failed)
    yield f"{count} input{'s' if count > 1 else ''} failed:"
    for trial in found.failed[:FAILURES_SHOWN]:
        assert trial.failure is not None
        failure = trial.failure
        yield from wrap(f"  #{trial.index} {visible(found.describe(trial))}", limit)
        yield f"    in {_one_line(failure.where)}: {failure.exception_type}: {_one_line(failure.message)}"
        params = ", ".join(f"{name}={value}" for name, value in trial.params.items())
        yield from (f"    {line}" for line in wrap(f"parameters: {visible(params)}", limit - 4))
        # Not wrapped: it is for copying.
        yield f"    {_one_line(trial.rebuild_line)}"
    if count > FAILURES_SHOWN:
        yield f"  … and {count - FAILURES_SHOWN} more"


def _one_line(text: str) -> str:
    return " ".join(visible(text).split("\n"))
