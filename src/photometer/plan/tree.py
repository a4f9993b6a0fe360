"""The tree of a plan as data: labels, and how many variants lie below each. `photometer list` draws it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from photometer.plan.work_order import WorkOrder


@dataclasses.dataclass(frozen=True)
class TreeNode:
    """A label, the variants that carry exactly this label, and the labels below it."""

    name: str
    orders: tuple[WorkOrder, ...]
    children: tuple[TreeNode, ...]

    @property
    def variants(self) -> int:
        """How many work orders lie here and below."""
        return len(self.orders) + sum(child.variants for child in self.children)


def order_tree(name: str, orders: Iterable[WorkOrder]) -> TreeNode:
    """The tree of the orders' labels, in the order in which they first appear."""
    return _node(name, [(order.label, order) for order in orders])


def _node(name: str, below: list[tuple[tuple[str, ...], WorkOrder]]) -> TreeNode:
    here: list[WorkOrder] = []
    groups: dict[str, list[tuple[tuple[str, ...], WorkOrder]]] = {}
    for path, order in below:
        if path:
            groups.setdefault(path[0], []).append((path[1:], order))
        else:
            here.append(order)
    return TreeNode(name, tuple(here), tuple(_node(label, group) for label, group in groups.items()))
