"""One replicate (a fresh fork on each side, blocks alternating on one core) to one log-ratio.

In: seconds per run of each side's blocks; the i-th blocks of the two sides were neighbours in time. Out: the log of
side B's time over side A's, and a standard error for diagnosis. The replicate is the unit of the statistics: its own
standard error does not cover what differs between forks and must not be used to judge a change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from photometer.errors import MeasurementError

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
