"""Instruction counts as text: three figures per statement, the costliest functions, and what differs between two.

In: InstructionCounts and FunctionCounts. Out: strings whose lines are no wider than asked for, if that is possible.
"""

from __future__ import annotations

from collections.abc import Sequence

from photometer.model.function_counts import FunctionCounts
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.visible_text import visible

# Rows of a table of functions: it fits a terminal together with its heads.
SHOWN_FUNCTIONS = 15
NARROWEST_NAME = 20
_COUNT_WIDTH = 14
_ELLIPSIS = " … "


def render_counts(all_counts: Sequence[InstructionCounts], width: int = 100) -> str:
    """Return one line per statement: instructions per run (outside the allocator), all, and calls of the allocator."""
    names = [_cut(counts.task_spec.title.replace("\n", "; "), max(width - 51, NARROWEST_NAME)) for counts in all_counts]
    name_width = max(*(len(name) for name in names), len("per run of"))
    lines = [f"{'per run of':<{name_width}}{'instructions':>15}{'with allocator':>19}{'allocator calls':>17}"]
    for name, counts in zip(names, all_counts, strict=True):
        lines.append(
            f"{name:<{name_width}}{counts.outside_allocator_per_run:>15,.2f}"
            f"{counts.instructions_per_run:>19,.2f}{counts.allocator_calls_per_run:>17,.2f}"
        )
    lines += ["", *_notes(all_counts)]
    return "\n".join(lines)


def render_top_functions(functions: FunctionCounts, number_per_run: int, width: int = 100) -> str:
    """Return the functions that executed most instructions themselves. The loop's own are not subtracted."""
    total = functions.sum()
    lines = [f"{'per run':>{_COUNT_WIDTH}}{'share':>8}  function"]
    for count, function in functions[:SHOWN_FUNCTIONS]:
        share = count / total if total else 0.0
        name = _cut(visible(function), max(width - _COUNT_WIDTH - 10, NARROWEST_NAME))
        lines.append(f"{count / number_per_run:>{_COUNT_WIDTH},.2f}{share:>8.1%}  {name}")
    return "\n".join([*lines, *_rest(len(functions))])


def render_difference(first: FunctionCounts, second: FunctionCounts, number_per_run: int, width: int = 100) -> str:
    """Return how many instructions per run the second executes more or less than the first, largest change first."""
    before = {function: count for count, function in first}
    after = {function: count for count, function in second}
    changes = sorted((second - first), key=lambda row: (-abs(row.count), row.function))
    if not changes:
        return "Every function executes the same number of instructions."
    lines = [f"{'first':>{_COUNT_WIDTH}}{'second':>{_COUNT_WIDTH}}{'difference':>{_COUNT_WIDTH}}  function"]
    for count, function in changes[:SHOWN_FUNCTIONS]:
        columns = (before.get(function, 0), after.get(function, 0))
        numbers = "".join(f"{value / number_per_run:>{_COUNT_WIDTH},.2f}" for value in columns)
        name = _cut(visible(function), max(width - 3 * _COUNT_WIDTH - 2, NARROWEST_NAME))
        lines.append(f"{numbers}{count / number_per_run:>+{_COUNT_WIDTH},.2f}  {name}")
    lines += _rest(len(changes))
    sums = (first.sum(), second.sum())
    numbers = "".join(f"{value / number_per_run:>{_COUNT_WIDTH},.2f}" for value in sums)
    lines.append(f"{numbers}{(sums[1] - sums[0]) / number_per_run:>+{_COUNT_WIDTH},.2f}  all")
    return "\n".join(lines)


def _notes(all_counts: Sequence[InstructionCounts]) -> list[str]:
    first = all_counts[0]
    several = "" if len(first.repeats) == 1 else "s"
    notes = [
        f"{len(first.repeats)} repeat{several} of {first.number_per_run} runs; the loop's own cost is subtracted.",
        "The first figure leaves out the allocator, whose cost depends on where memory lies.",
    ]
    for counts in all_counts:
        head = "" if len(all_counts) == 1 else f"{visible(counts.task_spec.title)}: "
        notes += [f"{head}{reason}" for reason in counts.difference_reasons]
        frozen = "" if counts.frozen_layout else "not frozen: "
        notes += [f"{head}{frozen}{reason}" for reason in counts.reasons]
    return notes


def _rest(rows: int) -> list[str]:
    return [f"{'…':>{_COUNT_WIDTH}} {rows - SHOWN_FUNCTIONS} more"] if rows > SHOWN_FUNCTIONS else []


def _cut(text: str, width: int) -> str:
    """Leave out the middle: the end of a function's name says as much as its beginning."""
    text = visible(text)
    if len(text) <= width:
        return text
    left = (width - len(_ELLIPSIS)) // 2
    return text[:left] + _ELLIPSIS + text[len(text) - (width - len(_ELLIPSIS) - left) :]
