"""Instruction counts as text: three figures per statement, the costliest functions, and what differs between two.

In: InstructionCounts and FunctionCounts. Out: strings whose lines are no wider than asked for, if that is possible.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from photometer.model.instruction_counts import FunctionCounts, InstructionCounts
from photometer.report.tables.as_text import render_text
from photometer.report.tables.table import STAYS, Column, Kind, Table, row_of, table_of

# Rows of a table of functions: it fits a terminal together with its heads.
SHOWN_FUNCTIONS = 15
# Names of template functions have hundreds of characters.
LONGEST_FUNCTION = 120
_FOLDERS = re.compile(r"^[^:]*/|(?<=\[)[^\]]*/")
COUNT_COLUMNS = (
    Column("statement", "per run of", Kind.NAME, is_code=True),
    Column("instructions", "instructions", Kind.COUNT, priority=STAYS),
    Column("all_instructions", "with allocator", Kind.COUNT),
    Column("allocator_calls", "allocator calls", Kind.COUNT, priority=2),
)
_FUNCTION = Column("function", "function", Kind.NAME, longest=LONGEST_FUNCTION)
FUNCTION_COLUMNS = (
    Column("count", "per run", Kind.COUNT, priority=STAYS),
    Column("share", "share", Kind.SHARE),
    _FUNCTION,
)
DIFFERENCE_COLUMNS = (
    Column("first", "first", Kind.COUNT),
    Column("second", "second", Kind.COUNT),
    Column("difference", "difference", Kind.ADDED, priority=STAYS),
    _FUNCTION,
)


def table_of_counts(all_counts: Sequence[InstructionCounts]) -> Table:
    """Return a row per statement: instructions per run (outside the allocator), all, and calls of the allocator."""
    rows = [
        row_of(
            {
                "statement": counts.task_spec.title.replace("\n", "; "),
                "instructions": counts.outside_allocator_per_run,
                "all_instructions": counts.instructions_per_run,
                "allocator_calls": counts.allocator_calls_per_run,
            }
        )
        for counts in all_counts
    ]
    return table_of(COUNT_COLUMNS, rows, notes=_notes(all_counts))


def render_counts(all_counts: Sequence[InstructionCounts], width: int = 100) -> str:
    """Return the figures of all statements, and notes about them."""
    return render_text(table_of_counts(all_counts), width).rstrip("\n")


def table_of_functions(functions: FunctionCounts, number_per_run: int, most: int = SHOWN_FUNCTIONS) -> Table:
    """Return the functions with the most instructions of their own. The loop's own are not subtracted."""
    total = functions.sum() or 1
    rows = [
        row_of({"count": count / number_per_run, "share": count / total, "function": _shown(function)})
        for count, function in functions[:most]
    ]
    return table_of(FUNCTION_COLUMNS, rows, notes=_rest(len(functions), most))


def render_top_functions(functions: FunctionCounts, number_per_run: int, width: int = 100) -> str:
    """Return the costliest functions."""
    return render_text(table_of_functions(functions, number_per_run), width).rstrip("\n")


def table_of_difference(first: FunctionCounts, second: FunctionCounts, number_per_run: int) -> Table:
    """Return how many instructions per run the second executes more or less than the first, largest change first."""
    before = {function: count for count, function in first}
    after = {function: count for count, function in second}
    changes = sorted((second - first), key=lambda row: (-abs(row.count), row.function))
    counts = [(before.get(each.function, 0), after.get(each.function, 0), each.function) for each in changes]
    shown = [*counts[:SHOWN_FUNCTIONS], (first.sum(), second.sum(), "all")]
    rows = [
        row_of(
            {
                "first": one / number_per_run,
                "second": other / number_per_run,
                "difference": (other - one) / number_per_run,
                "function": _shown(function),
            }
        )
        for one, other, function in shown
    ]
    return table_of(DIFFERENCE_COLUMNS, rows, notes=_rest(len(changes), SHOWN_FUNCTIONS))


def render_difference(first: FunctionCounts, second: FunctionCounts, number_per_run: int, width: int = 100) -> str:
    """Return the differences between two statements, function by function."""
    if not len(second - first):
        return "Every function executes the same number of instructions."
    return render_text(table_of_difference(first, second, number_per_run), width).rstrip("\n")


def _shown(function: str) -> str:
    """Return a long FILE:FUNCTION [LIBRARY] without folders: otherwise the name, in the middle, would be cut."""
    return function if len(function) <= LONGEST_FUNCTION else _FOLDERS.sub("", function)


def _notes(all_counts: Sequence[InstructionCounts]) -> list[str]:
    first = all_counts[0]
    several = "" if len(first.repeats) == 1 else "s"
    notes = [
        f"{len(first.repeats)} repeat{several} of {first.number_per_run} runs; the loop's own cost is subtracted.",
        "The first figure leaves out the allocator, whose cost depends on where memory lies.",
    ]
    for counts in all_counts:
        head = "" if len(all_counts) == 1 else f"{counts.task_spec.title}: "
        notes += [f"{head}{reason}" for reason in counts.difference_reasons]
        frozen = "" if counts.frozen_layout else "not frozen: "
        notes += [f"{head}{frozen}{reason}" for reason in counts.reasons]
    return notes


def _rest(rows: int, most: int) -> list[str]:
    return [f"{rows - most} more functions"] if rows > most else []
