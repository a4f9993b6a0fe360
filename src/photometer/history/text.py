"""A history as text for a terminal: runs, curves, changes, two commits side by side.

In: records of nouns.py and changes.py, and a width. Out: strings in which text from users is escaped.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Sequence

from photometer.analysis.cause import FunctionChange, short_functions
from photometer.history.changes import Cause, Change, levels_of
from photometer.history.nouns import Commit, Curve, CurvePoint, Metric, StoredRun
from photometer.model.units import format_bytes, format_count, format_seconds, percent
from photometer.model.visible_text import visible_line
from photometer.report.tables.as_text import render_text
from photometer.report.tables.table import STAYS, Cell, Column, Kind, Row, Table, Value, row_of, table_of

FUNCTIONS_SHOWN = 3
# A sparkline of more characters would be wider than a terminal.
SPARKS = 48
_BARS = "▁▂▃▄▅▆▇█"
RUN_COLUMNS = (
    Column("run", "run", Kind.COUNT, priority=STAYS),
    Column("date", "date", Kind.WORDS, priority=STAYS),
    Column("kind", "kind", Kind.WORDS, priority=2),
    Column("commit", "commit", Kind.WORDS, priority=STAYS),
    Column("branch", "branch", Kind.WORDS, priority=3),
    Column("suite", "suite", Kind.WORDS, priority=1),
    Column("results", "results", Kind.COUNT, priority=STAYS),
    Column("machine", "machine", Kind.WORDS, priority=4),
)
CURVE_COLUMNS = (
    Column("benchmark", "benchmark", Kind.NAME),
    Column("metric", "metric", Kind.WORDS),
    Column("unit", "unit", Kind.WORDS),
    Column("commit", "commit", Kind.WORDS),
    Column("date", "date", Kind.WORDS),
    Column("value", "value", Kind.NUMBER),
    Column("interval", "interval", Kind.NUMBER),
    Column("machine", "machine", Kind.WORDS),
    Column("environment", "environment", Kind.WORDS),
    Column("subject", "subject", Kind.WORDS),
)
POINT_COLUMNS = (
    Column("commit", "", Kind.NAME),
    Column("date", "", Kind.WORDS, priority=STAYS),
    Column("value", "", Kind.NUMBER, priority=STAYS),
    Column("interval", "", Kind.NUMBER, priority=2),
    Column("subject", "", Kind.WORDS),
)
# Of a time that differs although the same instructions are executed.
SAME_INSTRUCTIONS = "same instructions, so probably the machine"
_CAUSE_WORDS = {
    Cause.CODE: "the instructions changed, too",
    Cause.MACHINE: f"{SAME_INSTRUCTIONS}; --confirm compares the two commits live",
    Cause.CONFIRMED: "confirmed by a live comparison",
    Cause.REFUTED: "not confirmed: a live comparison of the two commits shows no change",
    Cause.OPEN: "open: instructions were not counted; --confirm compares the two commits live",
}


def format_value(value: float, metric: Metric) -> str:
    """Return a value with its unit."""
    if metric.unit == "s":
        return format_seconds(value)
    if metric.unit == "bytes":
        return format_bytes(value)
    if metric.unit == "instructions":
        return format_count(value)
    return f"{value:,.6g}" + (f" {metric.unit}" if metric.unit else "")


def format_change(relative: float) -> str:
    return percent(relative, signed=True) if math.isfinite(relative) else "new"


def format_day(seconds: int) -> str:
    return _date(seconds, "%Y-%m-%d")


def format_moment(seconds: int) -> str:
    return _date(seconds, "%Y-%m-%d %H:%M UTC")


def _date(seconds: int, form: str) -> str:
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime(form)
    except (OverflowError, ValueError, OSError):
        return "unknown"


def dates_of(moments: Iterable[int]) -> Callable[[int], str]:
    """Return what writes these as dates, and with their times if two of them are of one day."""
    different = set(moments)
    return format_day if len(set(map(format_day, different))) == len(different) else format_moment


def table_of_runs(runs: Sequence[StoredRun]) -> Table:
    """Return a row per run."""
    date = dates_of(run.started_at for run in runs)
    return table_of(RUN_COLUMNS, [_run_row(run, date(run.started_at)) for run in runs])


def render_runs(runs: Sequence[StoredRun], width: int | None = None) -> str:
    return render_text(table_of_runs(runs), width)


def _run_row(run: StoredRun, date: str) -> Row:
    commit = "" if run.commit is None else run.commit.short + ("+" if run.is_dirty else "")
    if run.base_commit is not None:
        commit = f"{run.base_commit.short}..{commit}"
    failed = f" ({run.failures} failed)" if run.failures else ""
    open_end = "" if run.is_complete else ", not finished"
    return row_of(
        {
            "run": Cell(run.id, str(run.id)),
            "date": Cell(format_moment(run.started_at), date),
            "kind": run.kind,
            "commit": commit,
            "branch": run.branch,
            "suite": run.suite.name,
            "results": Cell(run.results, after=f"{failed}{open_end}"),
            "machine": f"{run.machine.name}; {run.environment.name}",
        }
    )


def render_curve(curve: Curve, *, with_points: int = 0, width: int | None = None) -> str:
    """Return the curve as a line of bars with its ends, and the last values by commit if requested."""
    levels = levels_of(curve)
    head = f"  {curve.metric.words}: {len(levels)} commit{'' if len(levels) == 1 else 's'}, {curve.machine.name}"
    ends = f"{_at(levels[0], curve.metric)} … {_at(levels[-1], curve.metric)}" if len(levels) > 1 else ""
    lines = [f"{head}; {curve.environment.name}", f"    {sparks([level.value for level in levels])}  {ends}".rstrip()]
    shown = levels[-with_points:] if with_points else levels[:0]
    date = dates_of(level.commit.committed_at for level in shown)
    rows = [row_of(_level_cells(level, curve.metric, date)) for level in reversed(shown)]
    points = render_text(table_of(POINT_COLUMNS, rows), width, indent="    ") if rows else ""
    return visible_block(lines) + points


def table_of_curves(curves: Sequence[Curve], with_points: int) -> Table:
    """Return a row per value, the oldest first, for other programs: the last few values of each curve."""
    rows = []
    for curve in curves:
        levels = levels_of(curve)
        about: dict[str, Cell | Value] = {
            "benchmark": curve.benchmark.title,
            "metric": curve.metric.name,
            "unit": curve.metric.unit,
            "machine": curve.machine.name,
            "environment": curve.environment.name,
        }
        shown = levels[-with_points:] if with_points else levels[:0]
        rows += [row_of({**_level_cells(level, curve.metric, format_moment), **about}) for level in shown]
    return table_of(CURVE_COLUMNS, rows)


def _level_cells(level: CurvePoint, metric: Metric, date: Callable[[int], str]) -> dict[str, Cell | Value]:
    interval = _interval(level, metric)
    return {
        "commit": level.commit.short,
        "date": date(level.commit.committed_at),
        "value": Cell(level.value, format_value(level.value, metric)),
        "interval": Cell((level.low, level.high), interval) if interval else None,
        "subject": level.commit.subject,
    }


def _at(level: CurvePoint, metric: Metric) -> str:
    return f"{format_value(level.value, metric)} ({level.commit.short})"


def _interval(level: CurvePoint, metric: Metric) -> str:
    if level.low == level.high:
        return "exact" if metric.is_exact else ""
    return f"{format_value(level.low, metric)} to {format_value(level.high, metric)}"


def sparks(values: Sequence[float]) -> str:
    """Return values as bars of eight heights; if there are too many, medians of neighbours."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return ""
    size = max(1, math.ceil(len(finite) / SPARKS))
    groups = [sorted(finite[start : start + size]) for start in range(0, len(finite), size)]
    shown = [group[len(group) // 2] for group in groups]
    low, high = min(shown), max(shown)
    # What differs by less than a thousandth is flat to the eye, not a mountain.
    span = max(high - low, abs(high) * 1e-3, 1e-300)
    return "".join(_BARS[min(int((value - low) / span * len(_BARS)), len(_BARS) - 1)] for value in shown)


def render_change(
    change: Change, functions: Iterable[FunctionChange] = (), date: Callable[[int], str] = format_day
) -> str:
    """Return a change in two to four lines: the benchmark, the size, the commit with its date, the cause."""
    values = f"{format_value(change.before, change.metric)} → {format_value(change.after, change.metric)}"
    certainty = "exact" if change.p is None else f"p = {change.p:.2g}"
    lines = [
        f"{format_change(change.relative):>9}  {change.benchmark.title}, {change.metric.words}: {values} ({certainty})",
        f"           {where(change, date)}",
    ]
    if named := function_words(functions):
        lines.append(f"           most in {named}")
    if change.p is not None:
        lines.append(f"           {_CAUSE_WORDS[change.cause]}")
    return visible_block(lines)


def function_words(functions: Iterable[FunctionChange]) -> str:
    """Return the few largest functions with what each gained: `silu_kernel (+120)`."""
    changed = list(functions)
    names = short_functions([each.function for each in changed])
    named = [
        f"{name} ({format_count(each.instructions_per_run, signed=True)})"
        for name, each in zip(names, changed, strict=True)
    ]
    return ", ".join(named[:FUNCTIONS_SHOWN])


def where(change: Change, date: Callable[[int], str]) -> str:
    """Return the commit with its date, or the interval of commits that are not measured yet."""
    first, last = change.first.commit, change.last.commit
    if change.is_one_commit:
        return f"{date(first.committed_at)}  {_named(first)}"
    if change.unmeasured is None:
        return f"between {_named(last)} and {_named(first)}"
    count = len(change.unmeasured) + 1
    return f"one of {count} commits after {last.short} up to {_named(first)}"


def _named(commit: Commit) -> str:
    return f"{commit.short} {commit.subject}".rstrip() + (f" ({commit.author})" if commit.author else "")


def visible_block(lines: Iterable[str]) -> str:
    return "".join(visible_line(line) + "\n" for line in lines)
