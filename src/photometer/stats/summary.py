"""Order statistics of a handful of numbers, in plain Python.

A measurement has tens to a few thousand samples and a table may hold ten thousand measurements; for such
short lists plain code is several times faster than building an array for each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def quantile(ordered: Sequence[float], q: float) -> float:
    """Return the q-quantile of numbers already in ascending order, linear between neighbours."""
    if not ordered:
        raise ValueError("quantile of no numbers")
    position = q * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def median(values: Sequence[float]) -> float:
    if not values:
        raise ValueError("median of no numbers")
    # Not by `quantile`: this is called some twenty times per measurement, and is up to twice as fast.
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def standard_deviation(values: Sequence[float]) -> float:
    """Return the sample standard deviation (divided by n - 1); zero for a single number."""
    n = len(values)
    if n < 2:
        return 0.0
    centre = mean(values)
    return math.sqrt(math.fsum((v - centre) ** 2 for v in values) / (n - 1))


def median_absolute_deviation(values: Sequence[float]) -> float:
    """Return the deviation, scaled so that it estimates the standard deviation of normal data."""
    centre = median(values)
    return 1.4826 * median([abs(v - centre) for v in values])
