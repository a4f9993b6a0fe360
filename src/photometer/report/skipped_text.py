"""Benchmarks that say themselves that they do not apply here, as text: those with the same reason share a line.

In: the title, the side and the reason of each. Out: lines without layout.
"""

from __future__ import annotations

from collections.abc import Iterable

# A suite may skip hundreds for one reason: their number and a few examples say which.
MOST_NAMED = 3
# In place of a figure.
SKIPPED = "skipped"


def skipped_lines(skipped: Iterable[tuple[str, str, str]]) -> list[str]:
    """Return a line per reason: `9 skipped on the base side: needs AVX (add, mul, dot and 6 more)`."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for title, side, reason in skipped:
        grouped.setdefault((side, reason), []).append(title)
    return [
        f"{len(titles)} {SKIPPED}{f' on {side}' if side else ''}: {reason} ({_named(titles)})"
        for (side, reason), titles in grouped.items()
    ]


def _named(titles: list[str]) -> str:
    more = len(titles) - MOST_NAMED
    return ", ".join(titles[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
