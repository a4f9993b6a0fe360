"""A sweep that was judged point by point, in one line: `slower from n = 1,024 on (3 of 7 points), at most +12 %`.

In: the verdict at each point. Out: a sentence. A verdict that holds at a whole end of an axis is given with its first
point.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from photometer.analysis.verdict import CHANGED_WORDS, VERDICT_WORDS
from photometer.model.units import format_number, percent

MOST_POINTS_NAMED = 3


@dataclasses.dataclass(frozen=True)
class JudgedPoint:
    """A point of a sweep and its verdict."""

    sizes: tuple[tuple[str, Any], ...]
    verdict: str
    ratio: float

    @property
    def words(self) -> str:
        return ", ".join(f"{name} = {_value(value)}" for name, value in self.sizes)


@dataclasses.dataclass(frozen=True)
class SweepSummary:
    """One benchmark over its sizes on one side. `name` is its label and variant."""

    name: str
    points: tuple[JudgedPoint, ...]
    side: int = 1

    @property
    def sentence(self) -> str:
        return f"{self.name}: {summary_words(self.points)}"


def summaries(judged: Iterable[tuple[str, JudgedPoint]], side: int = 1) -> tuple[SweepSummary, ...]:
    """Return one summary per name that has several points, in the order in which the names first appear."""
    groups: dict[str, list[JudgedPoint]] = {}
    for name, point in judged:
        if point.sizes:
            groups.setdefault(name, []).append(point)
    return tuple(SweepSummary(name, tuple(points), side) for name, points in groups.items() if len(points) > 1)


def summary_words(points: Sequence[JudgedPoint]) -> str:
    """Return which verdict holds at which points, the worst first; the last is named without its points."""
    found = {word: [point for point in points if point.verdict == word] for word in VERDICT_WORDS}
    present = [word for word in VERDICT_WORDS if found[word]]
    if len(present) == 1:
        most = f", {_most(points)}" if present[0] in CHANGED_WORDS else ""
        return f"{present[0]} at all {len(points)} points{most}"
    parts = []
    for word in present[:-1]:
        most = f", {_most(found[word])}" if word in CHANGED_WORDS else ""
        parts.append(f"{word} {_where(found[word], points)}{most}")
    return "; ".join([*parts, f"{present[-1]} at the other {_count(len(found[present[-1]]))}"])


def _where(chosen: Sequence[JudgedPoint], points: Sequence[JudgedPoint]) -> str:
    share = f"{len(chosen)} of {len(points)} points"
    names = [name for name, _ in points[0].sizes]
    if len(names) == 1 and all(_is_number(point.sizes[0][1]) for point in points):
        ordered = sorted(points, key=lambda point: point.sizes[0][1])
        places = sorted(ordered.index(point) for point in chosen)
        if places == list(range(places[0], len(ordered))) and places[0] > 0:
            return f"from {ordered[places[0]].words} on ({share})"
        if places == list(range(len(places))):
            return f"up to {ordered[places[-1]].words} ({share})"
    named = "; ".join(point.words for point in chosen[:MOST_POINTS_NAMED])
    more = ", …" if len(chosen) > MOST_POINTS_NAMED else ""
    return f"at {share} ({named}{more})"


def _most(points: Sequence[JudgedPoint]) -> str:
    largest = max(points, key=lambda point: abs(point.ratio - 1.0))
    sign = "+" if largest.ratio > 1.0 else ""
    return f"at most {sign}{percent(largest.ratio - 1.0)} at {largest.words}"


def _count(number: int) -> str:
    return "point" if number == 1 else f"{number} points"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _value(value: Any) -> str:
    return format_number(value) if _is_number(value) else str(value)
