"""The low quantile of samples that are disturbed upwards only, with an interval from consecutive batches.

The host's time on a shared machine: whatever disturbs it makes it longer, by several times its length. The median then
says how busy the machine was; the lowest tenth says what the code takes. All bounds are samples, so none is negative.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from photometer.stats.summary import quantile

SHARE = 0.1
MOST_BATCHES = 10
# A batch of fewer samples has no lowest tenth to speak of.
FEWEST_PER_BATCH = 5


def low_quantile(values: Sequence[float]) -> float:
    return quantile(sorted(values), SHARE)


def low_quantile_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return from the lowest to the highest of the batches' low quantiles; of few samples, all that was seen."""
    batches = min(MOST_BATCHES, len(values) // FEWEST_PER_BATCH)
    if batches < 2:
        return min(values), max(values)
    edges = [round(place * len(values) / batches) for place in range(batches + 1)]
    floors = [low_quantile(values[first:last]) for first, last in itertools.pairwise(edges)]
    whole = low_quantile(values)
    return min(*floors, whole), max(*floors, whole)
