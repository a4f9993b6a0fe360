"""What comparisons of identical sides show about a machine: its false-alarm rate, and how wide its noise is.

In: counts of such comparisons, or their replicates' log-ratios. Out: rates with their uncertainty, and a scale for the
reference bets of ``anytime_evidence`` that covers this machine's replicates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from photometer.errors import DefinitionError
from photometer.stats.anytime_evidence import REFERENCE_SCALE

# Below this quantile of the sizes the reference is so far above any real noise that a scale read there means nothing.
_TAIL_FROM = 0.5


@dataclass(frozen=True)
class FalseAlarmRate:
    """Alarms among comparisons of identical sides, and the 95 % interval of the rate (Clopper and Pearson)."""

    alarms: int
    comparisons: int
    rate: float
    interval: tuple[float, float]


def false_alarm_rate(alarms: int, comparisons: int, *, confidence: float = 0.95) -> FalseAlarmRate:
    """Return the measured rate with an exact interval: no alarm in 300 still allows up to 1.2 %."""
    if not 0 <= alarms <= comparisons or comparisons == 0:
        raise DefinitionError(
            f"{alarms} alarms of {comparisons} comparisons make no rate.", remedy="Run at least one comparison."
        )
    from scipy import stats

    doubt = (1.0 - confidence) / 2.0
    low = float(stats.beta.ppf(doubt, alarms, comparisons - alarms + 1)) if alarms else 0.0
    high = float(stats.beta.ppf(1.0 - doubt, alarms + 1, comparisons - alarms)) if alarms < comparisons else 1.0
    return FalseAlarmRate(alarms, comparisons, alarms / comparisons, (low, high))


def reference_scale_for(log_ratios: ArrayLike) -> float:
    """Return the ``reference_scale`` for this machine: the built-in one, or a wider one if its tails need it.

    Each of the larger half of the sizes must lie inside the reference's quantile of the same rank.
    """
    sizes = np.sort(np.abs(np.asarray(log_ratios, dtype=np.float64)))
    if sizes.size == 0:
        return REFERENCE_SCALE
    quantile = (np.arange(sizes.size) + 0.5) / sizes.size
    tail = quantile >= _TAIL_FROM
    # Quantiles of |T| for Student's distribution with two degrees of freedom, in closed form.
    reference = quantile[tail] * np.sqrt(2.0 / (1.0 - quantile[tail] ** 2))
    return max(REFERENCE_SCALE, float(np.max(sizes[tail] / reference)))
