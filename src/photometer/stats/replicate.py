"""Replicates (fresh forks of each side, blocks alternating on one core): the change that one shows, and all together.

One replicate: the seconds per run of each side's blocks, neighbours in time, become the log of side B's time over side
A's. Its own standard error is for diagnosis: it does not cover what differs between forks and must not be used to judge
a change. All replicates: their log-ratios become a centre, an interval by Wilcoxon's signed ranks, and the smallest
change that replicates as noisy as these would have shown. The interval assumes that noise is as likely to be above as
below, which alternating sides in random order ensures, and nothing about its shape or size: an outlying replicate
counts as one rank. benchmarks/verdict_calibration.py measures how often it holds the truth when measuring stops.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from photometer.errors import MeasurementError
from photometer.stats.anytime_evidence import REFERENCE_SCALE, SHARED_BIAS, FloatArray, log_evidence_above

# Two estimates, each best on another machine. On a busy one, noise only ever adds time, often to more than half of the
# blocks, and the floors (the mean of the 5 % to 15 % quantiles) pass below it. On a quiet one whose clock wanders, the
# differences of neighbours do not see that, and their middle half averages over all blocks. Of 16 statements with
# themselves, replicates scattered (geometric mean) by 0.69 and 1.10 % with other load, by 0.88 and 0.60 % without.
# Both together, each weighted by its own jackknife variance, scattered by 0.68 and 0.54 %.
FLOOR_QUANTILES = np.linspace(0.05, 0.15, 9)
TRIMMED_SHARE = 0.25

# Groups of consecutive pairs that the standard errors leave out in turn: few enough that a group outlasts an
# interruption.
JACKKNIFE_GROUPS = 10

# What is said of a benchmark rests on at least so many pairs of forks: one whose threads were kept waiting looked 25
# times slower.
FEWEST_REPLICATES = 4

# Fewer blocks per side than this have no meaningful 5 % quantile.
MINIMUM_BLOCKS = 5

# An estimate that seems to have no error at all (a coarse clock) does not outweigh the other by more than this allows.
SMALLEST_ERROR = 1e-6

# Estimates further apart are of different things: a change of some of the blocks only. The floors then stand.
MOST_ERRORS_APART = 4.0


@dataclass(frozen=True)
class ReplicateEstimate:
    """The estimates of one replicate: log(B/A), the best and by the typical pair; the floors of both sides."""

    log_ratio: float
    typical_log_ratio: float
    standard_error: float
    seconds_per_run_a: float
    seconds_per_run_b: float
    blocks: int


def estimate_replicate(seconds_per_run_a: ArrayLike, seconds_per_run_b: ArrayLike) -> ReplicateEstimate:
    """Compare two sides' blocks: by their floors and by neighbouring pairs, each as much as it can be trusted.

    The median of pairs stands beside it: it also sees a change that touches only some of the blocks.
    """
    times_a = np.asarray(seconds_per_run_a, dtype=np.float64)
    times_b = np.asarray(seconds_per_run_b, dtype=np.float64)
    if times_a.shape != times_b.shape or times_a.ndim != 1:
        raise MeasurementError(
            f"A replicate needs as many blocks of one side as of the other, not {times_a.size} and {times_b.size}.",
            remedy="Take blocks in neighbouring pairs, one of each side.",
        )
    if times_a.size < MINIMUM_BLOCKS:
        raise MeasurementError(
            f"A replicate of {times_a.size} blocks per side is too short to compare: it needs {MINIMUM_BLOCKS}.",
            remedy="Give the replicate more time, or the statement smaller blocks.",
        )
    if not (np.all(np.isfinite(times_a) & (times_a > 0)) and np.all(np.isfinite(times_b) & (times_b > 0))):
        raise MeasurementError(
            "A block took no time, or its time is not a number.",
            remedy="Run the statement more often per block, so that the clock can see it.",
        )
    logs = np.stack([np.log(times_a), np.log(times_b)])
    floor_a, floor_b = _floors(logs)
    differences = logs[1] - logs[0]
    floors, middle = float(floor_b - floor_a), _middle_mean(differences)
    errors = np.maximum(_jackknife_errors(logs), SMALLEST_ERROR)
    agree = abs(floors - middle) <= MOST_ERRORS_APART * float(np.hypot(*errors))
    share = float(errors[1] ** 2 / np.sum(errors**2)) if agree else 1.0
    return ReplicateEstimate(
        log_ratio=share * floors + (1.0 - share) * middle,
        typical_log_ratio=float(np.median(differences)),
        standard_error=float(np.min(errors)),
        seconds_per_run_a=float(np.exp(floor_a)),
        seconds_per_run_b=float(np.exp(floor_b)),
        blocks=int(times_a.size),
    )


def _floors(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    floors: NDArray[np.float64] = np.quantile(logs, FLOOR_QUANTILES, axis=1).mean(axis=0)
    return floors


def _middle_mean(differences: NDArray[np.float64]) -> float:
    ordered = np.sort(differences)
    left_out = int(TRIMMED_SHARE * ordered.size)
    return float(np.mean(ordered[left_out : ordered.size - left_out]))


def _jackknife_errors(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard errors of floors and pairs by leaving out groups of consecutive pairs in turn.

    Noise that lasts is then counted once.
    """
    pairs = logs.shape[1]
    groups = min(JACKKNIFE_GROUPS, pairs)
    without = np.empty((groups, 2))
    for index, group in enumerate(np.array_split(np.arange(pairs), groups)):
        rest = np.delete(logs, group, axis=1)
        floor_a, floor_b = _floors(rest)
        without[index] = floor_b - floor_a, _middle_mean(rest[1] - rest[0])
    squares = np.sum((without - without.mean(axis=0)) ** 2, axis=0)
    errors: NDArray[np.float64] = np.sqrt((groups - 1) / groups * squares)
    return errors


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
