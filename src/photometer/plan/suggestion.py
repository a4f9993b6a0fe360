"""What is said about a selection: how many of how many orders it has, and which of its words no order has.

In: the whole plan, the selected one, the expression and the tags. Out: sentences, without a full stop.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from photometer.plan.selection import expression_words, names_of_order
from photometer.plan.work_order import WorkOrders

# Below this likeness (0 to 1) a suggestion would be a guess.
LIKE_ENOUGH = 0.6
MOST_SUGGESTIONS = 3


def selection_sentences(
    planned: WorkOrders, selected: WorkOrders, expression: str | None = None, tags: Collection[str] = ()
) -> list[str]:
    """Return nothing if nothing was asked for."""
    if expression is None and not tags:
        return []
    sentences = []
    names = {name for order in planned for name in names_of_order(order)}
    for word in expression_words(expression or ""):
        known = word in names if "=" in word else any(word in name for name in names)
        if not known:
            sentences.append(f"no label has {word!r}" + _did_you_mean(word, names))
    all_tags = {tag for order in planned for tag in order.tags}
    for tag in tags:
        if tag not in all_tags:
            sentences.append(f"no benchmark has the tag {tag!r}" + _did_you_mean(tag, all_tags))
    return [*sentences, f"{len(selected)} of {len(planned)} variants selected"]


def _did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return the nearest of the names, or else of their words: labels are often several."""
    whole = sorted(set(names))
    parts = sorted({part for name in whole for part in name.replace(".", " ").split()})
    found = difflib.get_close_matches(word, whole, MOST_SUGGESTIONS, LIKE_ENOUGH)
    found = found or difflib.get_close_matches(word, parts, MOST_SUGGESTIONS, LIKE_ENOUGH)
    if not found:
        return "; `photometer list` shows the labels"
    return f"; did you mean {' or '.join(repr(name) for name in found)}?"
