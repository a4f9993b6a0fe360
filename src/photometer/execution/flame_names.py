"""What the files of a flame graph are called: after the case, and as torch's README of these benchmarks names them.

In: the orders that get flame graphs. Out: a name for each, without folder and suffix; no two are the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from photometer.plan.work_order import Label, WorkOrder

# The four that every reader of that README looks for.
NAMES_OF_THE_README: dict[Label, str] = {
    ("torch.add", "Tensor"): "tensor",
    ("torch.add", "SubTensor"): "subtensor",
    ("torch.add", "WithTorchFunction"): "overridden",
    ("torch.add", "SubWithTorchFunction"): "suboverridden",
}
# Longer names are cut: archives and file systems have limits, and a prefix and a suffix are still to come.
LONGEST_NAME = 80


def flame_names(orders: Iterable[WorkOrder]) -> dict[str, str]:
    """By order id. Orders whose labels are alike (other languages, threads, sizes) are told apart by those."""
    orders = tuple(orders)
    labels = Counter(_plain_name(order) for order in orders)
    names: dict[str, str] = {}
    for order in orders:
        name = _plain_name(order)
        if labels[name] > 1:
            words = "-".join(str(value) for value in order.auto.as_dict().values())
            name = f"{name}-{_slug(words)}"
        names[order.id] = name if name not in names.values() else f"{name}-{order.id}"
    return names


def _plain_name(order: WorkOrder) -> str:
    return NAMES_OF_THE_README.get(order.label[-2:]) or _slug("-".join(order.label))


def _slug(text: str) -> str:
    """Letters, digits and single dashes; safe as a file's name everywhere."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:LONGEST_NAME].rstrip("-") or "case"
