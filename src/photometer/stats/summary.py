"""A handful of numbers in few: order statistics, and a confidence interval for the median of samples of a real machine.

A measurement has tens to a few thousand samples and a table may hold ten thousand measurements; for such short lists
plain Python is several times faster than building an array for each.

Neighbouring samples share the same noise (clock frequency, a neighbour on the same core, cache state), so the textbook
interval from order statistics, which takes them as independent, is far too narrow. Slow noise shows in two ways: the
machine moves between a few states, each for a random share of the measurement, so that the long-run median may be
anywhere in the middle of what was seen; and consecutive batches disagree, as the next measurement will. Neither is
divided by a number of samples, because a hundred samples of one state say no more than one; both shrink by the root of
the time measured, once that is long beside the states. The widest interval is returned, clipped to what was seen on its
lower side. benchmarks/precision.py measures its coverage.
"""

from __future__ import annotations

import itertools
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


# With few batches, each is long enough to average out fast correlation, and Student's t pays for their small number.
MOST_BATCHES = 10
FEWEST_PER_BATCH = 4
# Measurements differ from each other by more than their parts do. Batches alone, on a shared two-core machine, over
# four statements, quiet and under load: 76 to 98 % of intervals of 0.1 s held the long-run median with 1.0, 81 to 97 %
# with this; together with the middle of the samples, 91 to 100 %.
SLOW_NOISE_ALLOWANCE = 1.6
# On either side, the middle leaves out this many times the share that the confidence leaves open: 10 % for 95 %.
TAIL_ALLOWANCE = 2.0
# States of the machine last some tenths of a second: a measurement of more than this has met several. On a noisy
# machine (medians known to 3 to 40 %), 0.25, 0.5 and 1 s were tried; 1 s held the long-run median most often.
STATE_SECONDS = 1.0
# A longer measurement is cut into this many windows, and the middle is that of their medians: so more data help.
MOST_WINDOWS = 200

# Student's t, two-sided 95 %, for 1 to 9 degrees of freedom: a short measurement then needs no scipy, whose import
# takes 0.3 s.
_T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
_Z_95 = 1.959964


def median_interval(
    values: Sequence[float], confidence: float = 0.95, *, seconds: float | None = None
) -> tuple[float, float]:
    """Return the interval for the median of `values`, which are in the order they were measured.

    `seconds` is how long measuring them took: a long measurement has met many states of the machine. With one value
    nothing is known of the spread: the interval is infinite.
    """
    n = len(values)
    if n < 2:
        return (-math.inf, math.inf)
    low, high = order_statistic_interval(values, confidence)
    batches = min(MOST_BATCHES, n // FEWEST_PER_BATCH)
    if batches < 2:
        return low, high
    share = 1.0 if seconds is None or seconds <= STATE_SECONDS else math.sqrt(STATE_SECONDS / seconds)
    centre = median(values)
    half_width = share * batch_half_width(values, batches, confidence)
    first, last = middle(values, confidence, share)
    return min(low, first, centre - half_width), max(high, last, centre + half_width)


def order_statistic_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Return the distribution-free interval between two order statistics, for independent values.

    With fewer than six values even minimum to maximum covers less than 95 %: the interval is then widened by their
    standard error, times Student's t for their number.
    """
    ordered = sorted(values)
    n = len(ordered)
    if n < 6:
        centre = median(ordered)
        half = _student(n - 1, confidence) * standard_deviation(ordered) / math.sqrt(n) * math.sqrt(math.pi / 2)
        return min(ordered[0], centre - half), max(ordered[-1], centre + half)
    z = _normal(confidence)
    reach = z * math.sqrt(n) / 2
    low_rank = max(math.floor(n / 2 - reach), 0)
    high_rank = min(math.ceil(n / 2 + reach), n - 1)
    return ordered[low_rank], ordered[high_rank]


def batch_half_width(values: Sequence[float], batches: int, confidence: float = 0.95) -> float:
    """Return how far from this median the long-run median may lie, from the medians of consecutive batches.

    It is not divided by the root of their number (see above). More data still help: each batch is then longer.
    """
    medians = _medians_of_parts(values, batches)
    return SLOW_NOISE_ALLOWANCE * _student(batches - 1, confidence) * standard_deviation(medians)


def middle(values: Sequence[float], confidence: float = 0.95, share: float = 1.0) -> tuple[float, float]:
    """Return the bounds of all samples but the tails; of a long measurement, those of the medians of its windows.

    With `share`, only so much of what lies between the middle and the tails.
    """
    ordered = sorted(values if len(values) <= MOST_WINDOWS else _medians_of_parts(values, MOST_WINDOWS))
    reach = max(0.5 - TAIL_ALLOWANCE * (1.0 - confidence), 0.0) * share
    return quantile(ordered, 0.5 - reach), quantile(ordered, 0.5 + reach)


def _medians_of_parts(values: Sequence[float], parts: int) -> list[float]:
    """Return the medians of consecutive parts, as equal in length as possible."""
    n = len(values)
    edges = [round(i * n / parts) for i in range(parts + 1)]
    return [median(values[a:b]) for a, b in itertools.pairwise(edges)]


def _student(degrees_of_freedom: int, confidence: float) -> float:
    if confidence == 0.95 and degrees_of_freedom <= len(_T_95):
        return _T_95[degrees_of_freedom - 1]
    from scipy.stats import t  # only for the unusual confidence

    return float(t.ppf(0.5 + confidence / 2, degrees_of_freedom))


def _normal(confidence: float) -> float:
    if confidence == 0.95:
        return _Z_95
    from statistics import NormalDist

    return NormalDist().inv_cdf(0.5 + confidence / 2)
