"""Call stacks that sum to the displayed figure: the instructions of a statement outside the allocator.

In: stacks with Python's frames, for which the interpreter executed somewhat more, and the exact counts. Out: the stacks
without what depends on the memory layout, without the loop around the statement, and without the cost of making the
frames visible. So a flame graph, a table and a sentence about one statement show the same number.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from photometer.instruments.callgrind.call_tree import FoldedStack, whole_numbers
from photometer.instruments.callgrind.layout_dependent import is_dependent_below, is_layout_dependent
from photometer.instruments.callgrind.python_frames import LOOP, is_python_frame
from photometer.model.instruction_counts import InstructionCounts


def fitted_stacks(stacks: Sequence[FoldedStack], counts: InstructionCounts) -> list[FoldedStack]:
    """Return the stacks for all runs of `counts`, whose sum is `counts.without_loop.outside_allocator`.

    The difference belongs to the interpreter's loop: it is subtracted from, or added to, the own cost of Python's
    frames in proportion. A statement without such frames is scaled as a whole.
    """
    below, itself = functools.cache(is_dependent_below), functools.cache(is_layout_dependent)
    total = max(counts.without_loop.outside_allocator, 0)
    kept = {stack: float(count) for stack, count in stacks if not itself(stack[-1]) and not any(map(below, stack))}
    off = total - sum(kept.values())
    for belongs in (_is_own_bytecode, lambda _: True):
        movable = sum(weight for stack, weight in kept.items() if belongs(stack))
        if movable and movable + off >= 0:
            factor = (movable + off) / movable
            fitted = {stack: weight * factor if belongs(stack) else weight for stack, weight in kept.items()}
            return whole_numbers(fitted, total)
    return []


def _is_own_bytecode(stack: tuple[str, ...]) -> bool:
    return is_python_frame(stack[-1]) or stack[-1] == LOOP
