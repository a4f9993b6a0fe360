"""A flame tree: folded stacks of one side, or of two, as a tree of frames with the weight of each side.

In: stacks such as `(("f", "g"), 120.0)`, from py-spy (nanoseconds per run) or from Callgrind (instructions). Out: a
tree to draw, and the frames whose weight changed. Both sides must have the same unit and the same number of runs.
Whole numbers stay whole.
"""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict
from collections.abc import Iterable

FoldedStacks = Iterable[tuple[tuple[str, ...], float]]
# C functions of Python itself, as py-spy and Callgrind name them.
_OF_INTERPRETER = re.compile(
    r"(?:_?Py|slot_|method_|cfunction_|builtin_|vectorcall_|object_|type_call|binary_op|gen_send|tuple|dict_)"
)
_LIBPYTHON = re.compile(r"(?:lib)?python3?(?:\.\d+)?\b")
_OURS = re.compile(r"_photometer_|.* \(.*photometer/worker/")


def is_interpreter_frame(name: str) -> bool:
    """Whether a frame is the interpreter's own C code, which runs between any two functions of Python."""
    function, in_file, place = name.rpartition(" (")
    if not in_file:
        return _OF_INTERPRETER.match(name) is not None
    is_native = not place.endswith((".py)", "snippet)"))
    return is_native and (_LIBPYTHON.match(place) is not None or _OF_INTERPRETER.match(function) is not None)


def without_interpreter(stacks: FoldedStacks) -> list[tuple[tuple[str, ...], float]]:
    """Return the stacks without frames of the interpreter and of photometer, whose time goes to their callers."""
    return [
        (tuple(name for name in stack if not is_interpreter_frame(name) and not _OURS.match(name)), weight)
        for stack, weight in stacks
    ]


@dataclasses.dataclass
class FlameNode:
    """A frame below its callers. `base` and `branch` include its callees, `own_base` and `own_branch` do not.

    `width` is what it needs in a flame graph: the larger side's own weight and the widths of its children. So a frame
    that is gone keeps its place beside one that is new. A tree of one side leaves the other at 0.
    """

    name: str
    base: float = 0
    branch: float = 0
    own_base: float = 0
    own_branch: float = 0
    children: dict[str, FlameNode] = dataclasses.field(default_factory=dict)
    width: float = 0

    @property
    def size(self) -> float:
        """The weight of the larger side, callees included."""
        return max(self.base, self.branch)

    @property
    def change(self) -> float:
        """Return how much more, or less, the branch has."""
        return self.branch - self.base

    @property
    def own_change(self) -> float:
        """The change without callees: it points at the function that changed, not at its callers."""
        return self.own_branch - self.own_base

    @property
    def is_new(self) -> bool:
        """Return whether the base has no such frame."""
        return self.base == 0.0 and self.branch > 0.0


@dataclasses.dataclass(frozen=True)
class FrameChange:
    """A function, wherever it is called: its weight on both sides, callees included."""

    name: str
    base: float
    branch: float

    @property
    def change(self) -> float:
        """Return how much more, or less, the branch has."""
        return self.branch - self.base

    @property
    def is_new(self) -> bool:
        """Return whether the base has no such frame."""
        return self.base == 0.0 and self.branch > 0.0


def flame_tree(branch: FoldedStacks, base: FoldedStacks = (), *, root: str = "all") -> FlameNode:
    """Return the tree of one side, or of `branch` against `base`. Children are sorted by name."""
    top = FlameNode(root)
    for stack, weight in base:
        _add(top, stack, base=weight)
    for stack, weight in branch:
        _add(top, stack, branch=weight)
    _settle(top)
    return top


def frame_changes(base: FoldedStacks, branch: FoldedStacks) -> tuple[FrameChange, ...]:
    """Return every function of either side, largest growth first. Recursive calls count once per stack."""
    weights: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for side, stacks in enumerate((base, branch)):
        for stack, weight in stacks:
            for name in dict.fromkeys(stack):
                weights[name][side] += weight
    changes = [FrameChange(name, *sides) for name, sides in weights.items()]
    return tuple(sorted(changes, key=lambda change: (-change.change, change.name)))


def _add(top: FlameNode, stack: tuple[str, ...], *, base: float = 0, branch: float = 0) -> None:
    node = top
    path = [top]
    for name in stack:
        node = node.children.setdefault(name, FlameNode(name))
        path.append(node)
    for each in path:
        each.base += base
        each.branch += branch
    node.own_base += base
    node.own_branch += branch


def _settle(top: FlameNode) -> None:
    """Sort children, and set widths from the leaves up. Not by recursion: stacks may be hundreds of frames deep."""
    nodes = [top]
    for node in nodes:
        node.children = dict(sorted(node.children.items()))
        nodes.extend(node.children.values())
    for node in reversed(nodes):
        node.width = max(node.own_base, node.own_branch) + sum(child.width for child in node.children.values())
