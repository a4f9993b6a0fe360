"""The time of a statement when nothing disturbs it, from visits that are spread over a run, with its interval.

In: seconds per run of blocks, by visit. Out: a figure that a repeated run gives again, and an interval that holds the
repeated run's figure. Every disturbance makes a block longer. So the lowest blocks of a visit are the statement's time
in that process and memory layout, and among several visits the lowest met the machine undisturbed. The fastest block of
all is not used: it gets faster with every block, and in every third run the other run's figure would lie below it. Nor
is the lowest visit, which may have met a state that the machine rarely takes, such as a clock that was higher for a
second. docs/repeatability.md has the estimators that were tried, on the visits of whole runs and on simulated ones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import NormalDist

from photometer.stats.summary import MOST_BATCHES, quantile

# The level of a visit: this quantile of its blocks.
LOW_BLOCKS = 0.1
# The figure is the highest level among this share of the visits, the lowest: the second of five to eight.
LOW_VISITS = 0.25
# Runs differ by more than their visits say: other servers, another hour. Relative to the figure.
RUN_TO_RUN_SHARE = 0.005
# How many times the spread of the lowest blocks and visits the figure of another run may lie away, for eight visits;
# with more visits less, by the root. With this, 97 % of intervals held the other run's figure, at ± 1.5 %.
SPREADS_APART = 0.75
USUAL_VISITS = 8
# Fewer visits than that are enough if they agree: if the interval ends this near to its figure. In two runs of 76
# orders on a busy machine 7.1 visits on average repeated as well as eight did; with 2 % they repeated worse.
AGREEING_SHARE = 0.015
FEWEST_THAT_AGREE = 5
# What scatters more than this gets more visits: up to half as many again.
SCATTERING_SHARE = 0.03
MOST_VISITS = 12


def visit_levels(visits: Sequence[Sequence[float]]) -> list[float]:
    """Return the low quantile of the blocks of each visit, in ascending order."""
    return sorted(low_quantile(blocks) for blocks in visits)


def undisturbed(levels: Sequence[float]) -> float:
    """Return the highest among the lowest of the visits' levels, which are in ascending order."""
    return levels[math.ceil(LOW_VISITS * len(levels)) - 1]


def undisturbed_interval(levels: Sequence[float], fastest: float, confidence: float = 0.95) -> tuple[float, float]:
    """Return the interval for the figure of another run. It begins at the `fastest` measured block, or above.

    It narrows with the number of visits. One visit gives no information on others: its interval has no upper end.
    """
    if len(levels) < 2:
        return fastest, math.inf
    figure = undisturbed(levels)
    # From the fastest block to the first visit that is not among the lowest: the third of eight.
    spread = levels[min(math.ceil(LOW_VISITS * len(levels)), len(levels) - 1)] - fastest
    reach = SPREADS_APART * spread * math.sqrt(USUAL_VISITS / len(levels))
    reach = (reach + RUN_TO_RUN_SHARE * figure) * _relative_to_95(confidence)
    return max(figure - reach, fastest), figure + reach


def visits_wanted(visits: Sequence[Sequence[float]]) -> int:
    """Return how many visits there should be in all, by the blocks of those so far: fewer if they agree."""
    taken = len(visits)
    if taken < FEWEST_THAT_AGREE:
        return USUAL_VISITS
    levels = visit_levels(visits)
    figure = undisturbed(levels)
    share = undisturbed_interval(levels, min(map(min, visits)))[1] / figure - 1.0 if figure else 0.0
    if share <= AGREEING_SHARE:
        return taken
    return MOST_VISITS if taken >= USUAL_VISITS and share > SCATTERING_SHARE else max(USUAL_VISITS, taken)


def _relative_to_95(confidence: float) -> float:
    if confidence == 0.95:
        return 1.0
    normal = NormalDist()
    return normal.inv_cdf(0.5 + confidence / 2) / normal.inv_cdf(0.975)


# A batch of fewer samples has no lowest tenth to speak of.
FEWEST_PER_BATCH = 5


def low_quantile(values: Sequence[float]) -> float:
    return quantile(sorted(values), LOW_BLOCKS)


def low_quantile_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return from the lowest to the highest of the batches' low quantiles; of few samples, all that was seen."""
    batches = min(MOST_BATCHES, len(values) // FEWEST_PER_BATCH)
    if batches < 2:
        return min(values), max(values)
    edges = [round(place * len(values) / batches) for place in range(batches + 1)]
    floors = [low_quantile(values[first:last]) for first, last in itertools.pairwise(edges)]
    whole = low_quantile(values)
    return min(*floors, whole), max(*floors, whole)
