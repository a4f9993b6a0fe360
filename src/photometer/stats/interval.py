"""A confidence interval for the median of samples taken one after another on a real machine.

Neighbouring samples share their luck (clock frequency, another process, cache state), so the textbook interval
from order statistics, which takes them as independent, is far too narrow. Here the run is also cut into a few
consecutive batches; how far the batches' medians disagree shows the slow noise. That noise has no known end: what
differs from one tenth of a run to the next differs from run to run as well, so it is not divided by the number of
batches. The wider of the two intervals is stated. benchmarks/precision.py measures what this is worth.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from photometer.stats.summary import median, standard_deviation

# With few batches, each is long enough to average out fast correlation, and Student's t pays for their small number.
MOST_BATCHES = 10
FEWEST_PER_BATCH = 4
# What differs from run to run is more than what differs within one. On a shared two-core machine, over four statements,
# quiet and under load, 76 to 98 % of intervals of 0.1 s held the long-run median with 1.0, and 81 to 95 % with this.
SLOW_NOISE_ALLOWANCE = 1.6

# Student's t, two-sided 95 %, for 1 to 9 degrees of freedom: a short run then needs no scipy, whose import costs 0.3 s.
_T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
_Z_95 = 1.959964


def median_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """The interval for the median of `values`, which stand in the order they were measured.

    With one value nothing is known of the spread: the interval is everything.
    """
    n = len(values)
    if n < 2:
        return (-math.inf, math.inf)
    low, high = order_statistic_interval(values, confidence)
    batches = min(MOST_BATCHES, n // FEWEST_PER_BATCH)
    if batches < 2:
        return low, high
    centre = median(values)
    half_width = batch_half_width(values, batches, confidence)
    return min(low, centre - half_width), max(high, centre + half_width)


def order_statistic_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """The distribution-free interval between two order statistics, for independent values.

    Under six values even minimum to maximum covers less than 95 %: the interval is then widened by the range
    the few values have, times Student's t for their number.
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
    """How far from the median of this run the long-run median may lie, from the medians of consecutive batches.

    Not divided by the root of their number: see above. More data still help, for each batch is then longer.
    """
    n = len(values)
    edges = [round(i * n / batches) for i in range(batches + 1)]
    medians = [median(values[a:b]) for a, b in itertools.pairwise(edges)]
    return SLOW_NOISE_ALLOWANCE * _student(batches - 1, confidence) * standard_deviation(medians)


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
