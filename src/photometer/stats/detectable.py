"""The smallest change that replicates as noisy as these would have shown, with as many of them or with more.

In: replicate log-ratios and the log-evidence a verdict needs. Out: log-ratios. The replicates' own scatter is the noise
model: it is resampled, shifted, and tested as the real data are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from photometer.stats.anytime_evidence import REFERENCE_SCALE, SHARED_BIAS, log_evidence_above
from photometer.stats.replicate_interval import hodges_lehmann

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
