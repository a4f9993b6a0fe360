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

# A block's noise is one-sided: interrupts, neighbours on the core and slow clocks only ever add time, often to more
# than half of the blocks at once. So the sides are compared by their floors, the mean of the 5 % to 15 % quantiles.
# On a loaded machine its spread between replicates was 0.12 %; that of paired trimmed means was 0.3 to 0.4 %, of
# medians 0.7 %, of minima 0.3 %.
FLOOR_QUANTILES = np.linspace(0.05, 0.15, 9)

# Groups of consecutive pairs that the standard error leaves out in turn: few enough that a group outlasts an
# interruption.
JACKKNIFE_GROUPS = 10

# Fewer blocks per side than this have no meaningful 5 % quantile.
MINIMUM_BLOCKS = 5


@dataclass(frozen=True)
class ReplicateEstimate:
    """What one replicate says: log(B/A) by the floors, by the typical pair, and the floors themselves."""

    log_ratio: float
    typical_log_ratio: float
    standard_error: float
    seconds_per_run_a: float
    seconds_per_run_b: float
    blocks: int


def estimate_replicate(seconds_per_run_a: ArrayLike, seconds_per_run_b: ArrayLike) -> ReplicateEstimate:
    """Compare two sides' blocks: by their floors, with the median of neighbouring pairs beside it.

    The floor is the precise figure; the typical pair also sees a change that touches only some of the blocks.
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
    return ReplicateEstimate(
        log_ratio=float(floor_b - floor_a),
        typical_log_ratio=float(np.median(logs[1] - logs[0])),
        standard_error=_jackknife_error(logs),
        seconds_per_run_a=float(np.exp(floor_a)),
        seconds_per_run_b=float(np.exp(floor_b)),
        blocks=int(times_a.size),
    )


def _floors(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    floors: NDArray[np.float64] = np.quantile(logs, FLOOR_QUANTILES, axis=1).mean(axis=0)
    return floors


def _jackknife_error(logs: NDArray[np.float64]) -> float:
    """Return the standard error by leaving out groups of consecutive pairs, so that lasting noise is counted once."""
    pairs = logs.shape[1]
    groups = min(JACKKNIFE_GROUPS, pairs)
    left_out = np.array_split(np.arange(pairs), groups)
    floors = np.array([_floors(np.delete(logs, group, axis=1)) for group in left_out])
    without = floors[:, 1] - floors[:, 0]
    return float(np.sqrt((groups - 1) / groups * np.sum((without - without.mean()) ** 2)))
