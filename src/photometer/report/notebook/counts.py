"""InstructionCounts in a notebook: the three figures, whether they are exact, and the costliest functions."""

from __future__ import annotations

from photometer.model.instruction_counts import InstructionCounts
from photometer.report.escape import html_lines
from photometer.report.tables.as_html import SOFT, html_table, render_html
from photometer.report.tables.table import Column, Kind, row_of, table_of

MOST_FUNCTIONS = 8
COLUMNS = (Column("figure", "per run", Kind.NAME), Column("count", "", Kind.COUNT))
FUNCTION_COLUMNS = (
    Column("function", "function", Kind.NAME, is_code=True, longest=90),
    Column("count", "per run", Kind.COUNT),
    Column("share", "share", Kind.SHARE),
)


def counts_html(counts: InstructionCounts) -> str:
    """Return the figures per run, and a folded table of functions."""
    net = "without the loop" if counts.loop_baseline is not None else "with the loop"
    repeats, runs = len(counts.repeats), counts.number_per_run
    exact = "all exactly equal" if counts.is_exact else "not all equal"
    figures = {
        f"instructions outside the allocator, {net}": counts.outside_allocator_per_run,
        "with the allocator's own": counts.instructions_per_run,
        "calls of the allocator": counts.allocator_calls_per_run,
    }
    notes = [
        f"{repeats} repeat{_s(repeats)} of {runs} run{_s(runs)}, {exact}",
        *counts.difference_reasons,
        *counts.reasons,
    ]
    rows = [row_of({"figure": name, "count": count}) for name, count in figures.items()]
    return (
        f'<div style="line-height:1.5"><b>{html_lines(counts.task_spec.title)}</b>'
        f"{render_html(table_of(COLUMNS, rows, notes=notes))}{_functions(counts)}</div>"
    )


def _functions(counts: InstructionCounts) -> str:
    if not counts.top_functions:
        return ""
    total = counts.stable.total or 1
    rows = [
        row_of({"function": function, "count": count / counts.number_per_run, "share": count / total}, tip=function)
        for count, function in counts.top_functions[:MOST_FUNCTIONS]
    ]
    inner = html_table(table_of(FUNCTION_COLUMNS, rows))
    return f'<details><summary style="{SOFT}">the costliest functions</summary>{inner}</details>'


def _s(count: int) -> str:
    return "" if count == 1 else "s"
