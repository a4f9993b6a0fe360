"""Where the true change lies: the interval around the centre of replicates, by Wilcoxon's signed ranks.

In: replicate log-ratios, in the order they were taken. Out: a centre, an interval, and the smallest change that
replicates as noisy as these would have shown, with as many of them or with more. It assumes that noise is as likely to
be above as below, which alternating sides in random order ensures, and nothing about its shape or size: an outlying
replicate counts as one rank. benchmarks/verdict_calibration.py measures how often the interval holds the truth at the
moment when measuring stops.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from photometer.stats.anytime_evidence import REFERENCE_SCALE, SHARED_BIAS, FloatArray, log_evidence_above

# Share of resampled runs that must show a change of the stated size.
POWER = 0.8
# Resampled runs: these place an 80 % point about as well as the replicates' own scatter is known.
RESAMPLES = 25
# Fixed, so that the same data give the same figure.
_SEED = 20
# Changes searched: 0.01 % to a factor of e in steps of 5 %, finer than the scatter of a few replicates deserves.
_SEARCH = np.geomspace(1e-4, 1.0, 190)
# Fewer replicates say nothing about tails: three that agree by chance would make any change look detectable.
MINIMUM_REPLICATES = 4


def smallest_detectable_change(
    log_ratios: ArrayLike,
    *,
    log_needed: float,
    time_factor: float = 1.0,
    shared_bias: float = SHARED_BIAS,
    reference_scale: float = REFERENCE_SCALE,
) -> float:
    """Return the log-ratio that ``time_factor`` times as many replicates would call a change with probability POWER.

    Infinite if there are too few replicates to tell, or if no change up to a factor of e would be seen.
    """
    data = np.asarray(log_ratios, dtype=np.float64)
    if data.size < MINIMUM_REPLICATES:
        return float("inf")
    # Residuals about a centre fitted to them are a little too small; the factor corrects for that.
    residuals = (data - hodges_lehmann(data)) * np.sqrt(data.size / (data.size - 1))
    count = max(1, round(data.size * time_factor))
    generator = np.random.default_rng(_SEED)
    # Signs are drawn too: the noise is taken as symmetric, as the evidence itself takes it.
    noise = generator.choice(residuals, size=(RESAMPLES, count)) * generator.choice(
        (-1.0, 1.0), size=(RESAMPLES, count)
    )

    def seen(change: float) -> bool:
        log_evidence = log_evidence_above(noise + (change - shared_bias), reference_scale=reference_scale)[:, -1]
        # Minus log 2: a verdict averages the evidence of both directions, and the other one has almost none.
        return bool(np.mean(log_evidence - np.log(2.0) >= log_needed) >= POWER)

    return _first_seen(seen)


def _first_seen(seen_at: Callable[[float], bool]) -> float:
    low, high = 0, len(_SEARCH)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if seen_at(float(_SEARCH[middle])) else (middle + 1, high)
    return float(_SEARCH[low]) if low < len(_SEARCH) else float("inf")


# Measuring stops when the interval is narrow enough, which it is a little more often when it is wrong. A look therefore
# takes 0.8 of the error that the whole comparison may have: simulated with the scatter of 16 statements on two
# machines, quiet and loaded, 97.5 to 98 % of intervals then held changes of 0, 0.2, 0.5, 1 and 3 % when measuring
# stopped.
SHARE_PER_LOOK = 0.8


def hodges_lehmann(values: ArrayLike) -> float:
    """Return the median of all pairwise means: nearly as precise as the mean, and unmoved by a quarter of outliers."""
    return float(np.median(_pairwise_means(np.asarray(values, dtype=np.float64))))


def replicate_interval(
    log_ratios: ArrayLike, *, confidence: float = 0.95, shared_bias: float = SHARED_BIAS
) -> tuple[float, float]:
    """Return an interval of log-ratios that holds the true change with this confidence when measuring stops.

    It lies between two of the ordered pairwise means, and is widened by `shared_bias`. Too few replicates for their
    ranks to say so much get Student's interval; one alone says nothing.
    """
    data = np.asarray(log_ratios, dtype=np.float64)
    if data.size < 2:
        return (-np.inf, np.inf)
    error = (1.0 - confidence) * SHARE_PER_LOOK
    left_out = _ranks_left_out(data.size, error)
    if left_out:
        means = np.sort(_pairwise_means(data))
        low, high = float(means[left_out - 1]), float(means[-left_out])
    else:
        low, high = _student_interval(data, error)
    return (low - shared_bias, high + shared_bias)


def _pairwise_means(data: FloatArray) -> FloatArray:
    first, second = np.triu_indices(data.size)
    means: FloatArray = (data[first] + data[second]) / 2.0
    return means


@lru_cache(maxsize=1024)
def _ranks_left_out(count: int, error: float) -> int:
    """Return the place from either end at which the interval ends; 0 if so few replicates cannot be so sure.

    The signed rank sum of noise that is symmetric has a known distribution: every subset of 1 … count is as likely.
    """
    probabilities = np.ones(1)
    for rank in range(1, count + 1):
        longer = np.zeros(probabilities.size + rank)
        longer[: probabilities.size] += probabilities
        longer[rank:] += probabilities
        probabilities = longer / 2.0
    return int(np.searchsorted(np.cumsum(probabilities), error / 2.0, side="right"))


def _student_interval(data: FloatArray, error: float) -> tuple[float, float]:
    from scipy import special

    reach = special.stdtrit(data.size - 1, 1.0 - error / 2.0) * float(np.std(data, ddof=1)) / np.sqrt(data.size)
    centre = float(np.mean(data))
    return (centre - float(reach), centre + float(reach))
