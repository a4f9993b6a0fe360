"""Bisection: find the first of many commits that differs, with as few tests as possible.

In: how many commits there are, and a test that returns same, changed or untestable. Out: the number of the first
changed commit, or, if its neighbours cannot be tested, the few candidates.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable


class Outcome(enum.Enum):
    """A commit against the good one."""

    SAME = "same"
    CHANGED = "changed"
    UNTESTABLE = "untestable"


@dataclasses.dataclass(frozen=True)
class Found:
    """Places of commits: the last that is the same (-1 is the good one), the first known to differ, and how many tests.

    What lies between them could not be tested.
    """

    last_same: int
    first_changed: int
    steps: int

    @property
    def candidates(self) -> range:
        return range(self.last_same + 1, self.first_changed + 1)


def bisect(count: int, test: Callable[[int], Outcome]) -> Found:
    """Find the first of `count` commits, oldest first, that differs from the one before them; the last one does."""
    low, high, steps = -1, count - 1, 0
    untestable: set[int] = set()
    while True:
        place = _next(low, high, untestable)
        if place is None:
            return Found(low, high, steps)
        steps += 1
        outcome = test(place)
        if outcome is Outcome.UNTESTABLE:
            untestable.add(place)
        elif outcome is Outcome.CHANGED:
            high = place
        else:
            low = place


def _next(low: int, high: int, untestable: set[int]) -> int | None:
    """Return the testable place nearest to the middle, strictly between the two."""
    middle = (low + high) // 2
    places = [place for place in range(low + 1, high) if place not in untestable]
    return min(places, key=lambda place: (abs(place - middle), place)) if places else None


def coarse_to_fine(count: int) -> list[int]:
    """Return the places 0 to count - 1 so that any beginning of the list is spread evenly: the newest, the oldest,
    the middle, the quarters, …, the newer ones of each level first.
    """
    if count < 1:
        return []
    order, seen = [], set()
    stride = 1
    while stride < count:
        stride *= 2
    for place in (count - 1, 0):
        if place not in seen:
            order.append(place)
            seen.add(place)
    while stride >= 1:
        for place in range(count - 1, -1, -stride):
            if place not in seen:
                order.append(place)
                seen.add(place)
        stride //= 2
    return order


def spread(count: int, *, every: int | None = None, at_most: int | None = None) -> list[int]:
    """Return which of `count` places to take: every Nth, counted from the newest, or a number in all; with both
    ends if there is more than one.
    """
    if count < 1:
        return []
    if every is not None:
        return sorted({0, *range(count - 1, -1, -every)})
    if at_most is not None and at_most < count:
        if at_most == 1:
            return [count - 1]
        return sorted({round(place * (count - 1) / (at_most - 1)) for place in range(at_most)})
    return list(range(count))
