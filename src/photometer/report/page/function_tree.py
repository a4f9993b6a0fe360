"""Where instructions went, as a tree for an icicle chart; of two sides, with the change of each frame.

In come folded stacks or, where a record has none, counts of functions; out comes a tree whose frames are wide enough
to be seen. Counts are of both sides: a chart of one side leaves the other at zero.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from photometer.report.page.view_benchmark import FunctionRow, Stack

# On a chart of a thousand pixels a frame below three of them can neither be read nor hit.
SMALLEST_SHARE = 0.003
_OBJECT = re.compile(r"^(?P<function>.*) \[(?P<object>[^\]]+)\]$", re.DOTALL)


@dataclasses.dataclass
class Frame:
    """A function below its callers: instructions of base and branch, those it calls included.

    `own_change` leaves those it calls out: it points at the function that changed, not at all who lead to it.
    """

    name: str
    base: int = 0
    branch: int = 0
    own_change: int = 0
    children: dict[str, Frame] = dataclasses.field(default_factory=dict)

    def child(self, name: str) -> Frame:
        return self.children.setdefault(name, Frame(name))

    @property
    def size(self) -> int:
        return max(self.base, self.branch)


def tree_of_stacks(base: Sequence[Stack], branch: Sequence[Stack] = ()) -> Frame | None:
    """The tree of one side or of two. None where there is nothing to draw."""
    root = Frame("all")
    for stack, count in base:
        way = _way(root, stack)
        way[-1].own_change -= count
        for frame in way:
            frame.base += count
    for stack, count in branch:
        way = _way(root, stack)
        way[-1].own_change += count
        for frame in way:
            frame.branch += count
    _prune(root, root.size * SMALLEST_SHARE)
    return root if root.size > 0 and root.children else None


def tree_of_functions(functions: Sequence[FunctionRow], total: int = 0) -> Frame | None:
    """Where only functions were kept: library, then function. Who called whom is not known.

    `total` is of all functions; what the given ones do not account for is a frame of its own.
    """
    stacks: list[Stack] = []
    for count, name in functions:
        if count <= 0:
            continue
        found = _OBJECT.match(name)
        function = found["function"] if found else name
        library = found["object"].rsplit("/", 1)[-1] if found else "other"
        stacks.append(((library, function), int(count)))
    rest = total - sum(count for _, count in stacks)
    if stacks and rest > 0:
        stacks.append((("all other functions",), rest))
    return tree_of_stacks(stacks)


def _way(root: Frame, stack: Sequence[str]) -> list[Frame]:
    way = [root]
    for name in stack:
        way.append(way[-1].child(name))
    return way


def _prune(root: Frame, smallest: float) -> None:
    open_frames = [root]
    while open_frames:
        frame = open_frames.pop()
        kept = sorted((c for c in frame.children.values() if c.size >= smallest), key=lambda c: (-c.size, c.name))
        frame.children = {child.name: child for child in kept}
        open_frames += kept
