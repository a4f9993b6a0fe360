"""Compare measurements that were not taken side by side: how much of a difference the noise of processes explains.

In: one time per process of each side, from one or several processes. Out: a log-ratio and an interval that covers,
besides the scatter seen, a bias of each process that no number of samples inside it can show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from photometer.errors import MeasurementError
from photometer.stats.replicate import POWER

# Standard deviation of log(B/A) between two processes of identical code with ordinary address randomisation. Measured:
# 2.8 to 4 %, single pairs 7 % off; the upper figure is taken.
PAIR_BIAS_RANDOM_LAYOUT = 0.04
# The same with randomisation off and equal hash seed and environment. Measured: 0.24 to 0.67 %.
PAIR_BIAS_FROZEN_LAYOUT = 0.0067
# What a machine's state (clock, neighbours) moves between two sessions, which side-by-side blocks would cancel.
# Floors of one statement over 40 minutes, while the load rose from one to seven, had a standard deviation of 0.4 to
# 0.5 % (1.8 % between extremes); twice that is taken, because days differ more than minutes.
SESSION_DRIFT = 0.01
# The biases are known from a few dozen pairs: Student quantiles with this many degrees of freedom, not normal ones.
BIAS_DEGREES_OF_FREEDOM = 10.0


@dataclass(frozen=True)
class UnpairedEstimate:
    """log(B/A) from separate runs, its interval, and the standard deviations it is made of."""

    log_ratio: float
    interval: tuple[float, float]
    p: float
    scatter: float
    bias: float

    def detectable(self, p: float) -> float:
        """Return the log-ratio that would reach this p-value in four comparisons of five."""
        from scipy import stats

        student = stats.t(BIAS_DEGREES_OF_FREEDOM)
        return float(student.isf(p / 2.0) + student.ppf(POWER)) * math.hypot(self.scatter, self.bias)


def estimate_unpaired(
    seconds_a: Sequence[float],
    seconds_b: Sequence[float],
    *,
    frozen_layout: bool = False,
    confidence: float = 0.95,
    relative_error_a: float = 0.0,
    relative_error_b: float = 0.0,
) -> UnpairedEstimate:
    """Compare the times of side A's processes with those of side B's, one time per process.

    ``relative_error_*`` are the standard errors inside a process, for sides of one process, whose scatter is unknown.
    """
    times = [np.asarray(seconds, dtype=np.float64) for seconds in (seconds_a, seconds_b)]
    if any(side.size == 0 or not np.all(np.isfinite(side) & (side > 0.0)) for side in times):
        raise MeasurementError(
            "An unpaired comparison needs at least one positive time of each side.",
            remedy="Run the side without times again, or compare the two live.",
        )
    from scipy import stats

    sides = [np.log(side) for side in times]
    log_ratio = float(np.median(sides[1]) - np.median(sides[0]))
    pair_bias = PAIR_BIAS_FROZEN_LAYOUT if frozen_layout else PAIR_BIAS_RANDOM_LAYOUT
    # A pair's bias is the difference of two processes' biases, so each process has half of its variance. Medians of
    # several processes are a little less efficient than means (π/2 in variance), hence the factor.
    bias_variance = SESSION_DRIFT**2
    scatter_variance = 0.0
    for side, error in zip(sides, (relative_error_a, relative_error_b), strict=True):
        efficiency = np.pi / 2.0 if side.size > 2 else 1.0
        bias_variance += pair_bias**2 / 2.0 / side.size * efficiency
        seen = float(np.var(side, ddof=1)) / side.size * efficiency if side.size > 1 else 0.0
        scatter_variance += max(seen, error**2 / side.size)
    total = float(np.sqrt(bias_variance + scatter_variance))
    student = stats.t(BIAS_DEGREES_OF_FREEDOM)
    reach = float(student.ppf(0.5 + confidence / 2.0)) * total
    return UnpairedEstimate(
        log_ratio=log_ratio,
        interval=(log_ratio - reach, log_ratio + reach),
        p=float(2.0 * student.sf(abs(log_ratio) / total)),
        scatter=float(np.sqrt(scatter_variance)),
        bias=float(np.sqrt(bias_variance)),
    )
