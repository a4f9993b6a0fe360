"""Short titles for tables: the label, and of the auto labels only those in which the orders of the plan differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from photometer.plan.work_order import WorkOrder

SEPARATOR = " › "


def short_titles(orders: Sequence[WorkOrder]) -> dict[str, str]:
    """By the order's id. Two orders that would read the same keep their full titles."""
    columns = [order.auto.as_dict() for order in orders]
    names = list(dict.fromkeys(name for column in columns for name in column))
    telling = [name for name in names if len({column.get(name) for column in columns}) > 1]
    titles = {}
    for order, column in zip(orders, columns, strict=True):
        words = [_word(name, column[name]) for name in telling if name in column]
        titles[order.id] = SEPARATOR.join(order.label) + (f" [{', '.join(words)}]" if words else "")
    times = Counter(titles.values())
    return {order.id: titles[order.id] if times[titles[order.id]] == 1 else order.title for order in orders}


def _word(name: str, value: str | int) -> str:
    if name == "num_threads":
        return f"{value} thread{'' if value == 1 else 's'}"
    return str(value) if name in ("runtime", "autograd", "language", "device") else f"{name}={value}"
