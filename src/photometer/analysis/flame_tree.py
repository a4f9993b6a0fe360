"""FlameTree: folded stacks of one side, or of two, as a tree of frames with the weight of each side.

In: stacks such as `(("f", "g"), 120.0)`, from py-spy (nanoseconds per run) or from Callgrind (instructions). Out: a
tree to draw, and the frames whose weight changed. Weights of both sides must be in one unit and for as many runs.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable

FoldedStacks = Iterable[tuple[tuple[str, ...], float]]


@dataclasses.dataclass
class FlameNode:
    """A frame where it stands. `base` and `branch` hold what is below it too; of one side alone, `base` is 0.

    `width` is what it needs to be drawn: the larger side's own weight and the widths of its children. So a frame that
    is gone keeps its place beside one that is new.
    """

    name: str
    base: float = 0.0
    branch: float = 0.0
    own_base: float = 0.0
    own_branch: float = 0.0
    children: dict[str, FlameNode] = dataclasses.field(default_factory=dict)
    width: float = 0.0

    @property
    def change(self) -> float:
        return self.branch - self.base

    @property
    def is_new(self) -> bool:
        return self.base == 0.0 and self.branch > 0.0


@dataclasses.dataclass(frozen=True)
class FrameChange:
    """A function by name, wherever it stands: its weight on both sides, callees included."""

    name: str
    base: float
    branch: float

    @property
    def change(self) -> float:
        return self.branch - self.base

    @property
    def is_new(self) -> bool:
        return self.base == 0.0 and self.branch > 0.0


def flame_tree(branch: FoldedStacks, base: FoldedStacks = (), *, root: str = "all") -> FlameNode:
    """The tree of one side, or of `branch` against `base`. Children are in the order of their names."""
    top = FlameNode(root)
    for stack, weight in base:
        _add(top, stack, base=weight)
    for stack, weight in branch:
        _add(top, stack, branch=weight)
    _settle(top)
    return top


def frame_changes(base: FoldedStacks, branch: FoldedStacks) -> tuple[FrameChange, ...]:
    """Every function of either side, what grew most first. A function that calls itself counts once a stack."""
    weights: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for side, stacks in enumerate((base, branch)):
        for stack, weight in stacks:
            for name in dict.fromkeys(stack):
                weights[name][side] += weight
    changes = [FrameChange(name, *sides) for name, sides in weights.items()]
    return tuple(sorted(changes, key=lambda change: (-change.change, change.name)))


def _add(top: FlameNode, stack: tuple[str, ...], *, base: float = 0.0, branch: float = 0.0) -> None:
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
    """Widths, from the leaves up, and the order of children. Not by recursion: stacks may be hundreds deep."""
    nodes = [top]
    for node in nodes:
        node.children = dict(sorted(node.children.items()))
        nodes.extend(node.children.values())
    for node in reversed(nodes):
        node.width = max(node.own_base, node.own_branch) + sum(child.width for child in node.children.values())
