"""Call stacks as a results file keeps them: a tree of frames wide enough to be seen, each name written once.

In come folded stacks, `(("main", "f"), 120)` each; out goes a small JSON object, and back. What is pruned stays with
its caller, so that the sum is kept. ComparisonStacks has those of both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from photometer.errors import ResultsFileError
from photometer.model.records import LARGEST_WHOLE_NUMBER, Positive

FoldedStack = tuple[tuple[str, ...], int]

# On a chart of a thousand pixels a frame below two of them cannot be seen.
SMALLEST_SHARE = 0.002
# Names of C++ templates reach many thousands of characters; the beginning and the end tell which it is.
LONGEST_NAME = 200


@dataclass
class _Node:
    own: int = 0
    inclusive: int = 0
    children: dict[str, _Node] = field(default_factory=dict)


def pack_stacks(stacks: Iterable[FoldedStack], smallest_share: float = SMALLEST_SHARE) -> dict[str, Any]:
    """Return `{"frames": [name, …], "tree": [[parent's place, frame's place, own count], …]}`; a root has parent -1."""
    root = _Node()
    for stack, count in stacks:
        node = root
        node.inclusive += count
        for name in stack:
            node = node.children.setdefault(short_name(name), _Node())
            node.inclusive += count
        node.own += count
    frames: dict[str, int] = {}
    tree: list[list[int]] = []
    smallest = root.inclusive * smallest_share
    waiting = [(root, -1)]
    while waiting:
        node, place = waiting.pop()
        for name, child in sorted(node.children.items(), key=lambda item: -item[1].inclusive):
            if child.inclusive < smallest:
                # What is too thin to be seen counts as its caller's own.
                if place >= 0:
                    tree[place][2] += child.inclusive
                continue
            tree.append([place, frames.setdefault(name, len(frames)), child.own])
            waiting.append((child, len(tree) - 1))
    return {"frames": list(frames), "tree": tree}


def unpack_stacks(packed: object) -> tuple[FoldedStack, ...]:
    """Return the stacks again, those with a count of their own."""
    if not isinstance(packed, Mapping):
        raise ResultsFileError(f"call stacks should be an object, found {type(packed).__name__}")
    stacks: list[tuple[str, ...]] = []
    counted = []
    try:
        frames = [str(frame) for frame in packed["frames"]]
        for parent, frame, own in packed["tree"]:
            # A parent stands before its children, so a file cannot lead in a circle.
            above = () if parent < 0 else stacks[parent]
            stacks.append((*above, frames[frame]))
            if abs(own) > LARGEST_WHOLE_NUMBER:
                raise ValueError(f"a count of {own!r:.40}")
            if own:
                counted.append((stacks[-1], int(own)))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ResultsFileError(f"call stacks cannot be read: {type(error).__name__}: {error}") from error
    return tuple(counted)


def short_name(name: str) -> str:
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME * 2 // 3]} … {name[-LONGEST_NAME // 3 :]}"


@dataclass(frozen=True)
class ComparisonStacks:
    """The instructions of both sides of a changed benchmark by stack, for the differential flame graph.

    `base` and `branch` are as pack_stacks leaves them, of `number_per_run` runs each. A record of its own beside the
    verdict, because it is many times its size and few readers want it.
    """

    KIND: ClassVar[str] = "comparison_stacks"

    order_id: str
    number_per_run: Positive
    base: Mapping[str, Any]
    branch: Mapping[str, Any]
    # The position of the side that is compared with the reference.
    side: int = 1

    def __post_init__(self) -> None:
        if not self.base_stacks or not self.branch_stacks:
            raise ResultsFileError("the call stacks of a comparison should be of both sides")

    @property
    def base_stacks(self) -> tuple[FoldedStack, ...]:
        return unpack_stacks(self.base)

    @property
    def branch_stacks(self) -> tuple[FoldedStack, ...]:
        return unpack_stacks(self.branch)
