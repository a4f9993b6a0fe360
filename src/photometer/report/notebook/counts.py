"""InstructionCounts in a notebook: the three figures, whether they are exact, and the costliest functions."""

from __future__ import annotations

from photometer.model.instruction_counts import InstructionCounts
from photometer.report.escape import html_lines, html_text
from photometer.report.notebook.look import SOFT, row, table

MOST_FUNCTIONS = 8
WIDEST_FUNCTION = 90


def counts_html(counts: InstructionCounts) -> str:
    """Return the figures per run, and a folded table of functions."""
    net = "without the loop" if counts.loop_baseline is not None else "with the loop"
    repeats, runs = len(counts.repeats), counts.number_per_run
    exact = "all exactly equal" if counts.is_exact else "not all equal"
    figures = [
        row((f"instructions outside the allocator, {net}",), (f"<b>{counts.outside_allocator_per_run:,.2f}</b>",)),
        row(("with the allocator's own",), (f"{counts.instructions_per_run:,.2f}",)),
        row(("calls of the allocator",), (f"{counts.allocator_calls_per_run:,.2f}",)),
    ]
    notes = [
        f"{repeats} repeat{_s(repeats)} of {runs} run{_s(runs)}, {exact}",
        *counts.difference_reasons,
        *counts.reasons,
    ]
    return (
        f'<div style="line-height:1.5;overflow-x:auto"><b>{html_lines(counts.task_spec.title)}</b>'
        f"{table(('per run', ''), figures, words=1)}"
        f'<div style="{SOFT}">{"<br>".join(html_text(note) for note in notes)}</div>{_functions(counts)}</div>'
    )


def _functions(counts: InstructionCounts) -> str:
    if not counts.top_functions:
        return ""
    rows = []
    for count, function in counts.top_functions[:MOST_FUNCTIONS]:
        name = function if len(function) <= WIDEST_FUNCTION else "…" + function[1 - WIDEST_FUNCTION :]
        share = count / counts.stable.total if counts.stable.total else 0.0
        rows.append(
            row(
                (f"<code>{html_text(name)}</code>",),
                (f"{count / counts.number_per_run:,.1f}", f"{share:.1%}"),
                function,
            )
        )
    inner = table(("function", "per run", "share"), rows, words=1)
    return f'<details><summary style="{SOFT}">the costliest functions</summary>{inner}</details>'


def _s(count: int) -> str:
    return "" if count == 1 else "s"
