"""Where the true change may lie, and how certain it is that it is not zero; both valid at any stopping time.

In: replicate log-ratios, in the order they were taken. Out: a centre, a confidence sequence's current interval (all
changes that the evidence does not refute), and the evidence for a change with its p-value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from photometer.stats.anytime_evidence import REFERENCE_SCALE, FloatArray, log_evidence_above

# A bias that all replicates of a pair of servers may share (their own pages, start order), as a log-ratio. No number
# of replicates of one pair shows it, so every hypothesis allows for it and every interval is widened by it. Centres of
# 60 pairs of identical sides (10 to 20 replicates each) lay within 0.1 % of zero, except three at 0.15 to 0.23 %.
# Simulated: with biases of 0.1 % and a restart every six replicates it keeps false alarms at 0.2 %, against 4.5 %
# without it; with a restart every 20 it is not enough.
SHARED_BIAS = 0.0005

# The search for an interval's ends looks at distances from the centre of 0.01 % to a factor of e**2, a quarter apart,
# then twice splits the last gap: to one per cent of the distance, rounded outwards.
_DISTANCES = np.geomspace(1e-4, 2.0, 45)
_SPLITS = 5
_REFINEMENTS = 2


@dataclass(frozen=True)
class ChangeEvidence:
    """Evidence for a change so far: logs of the current e-values, and the p-value of the highest evidence so far."""

    log_slower: float
    log_faster: float
    log_changed: float
    p: float


def hodges_lehmann(values: ArrayLike) -> float:
    """Return the median of all pairwise means: nearly as precise as the mean, and unmoved by a quarter of outliers."""
    data = np.asarray(values, dtype=np.float64)
    first, second = np.triu_indices(data.size)
    return float(np.median((data[first] + data[second]) / 2.0))


def change_evidence(
    log_ratios: ArrayLike, *, shared_bias: float = SHARED_BIAS, reference_scale: float = REFERENCE_SCALE
) -> ChangeEvidence:
    """Return the evidence against "no change beyond the shared bias", in each direction and in either.

    ``log_changed`` is the log of the two directions' mean; compare it with a threshold: if nothing changed, it ever
    passes log(1/α) with probability at most α. The p-value uses the highest evidence so far.
    """
    data = np.asarray(log_ratios, dtype=np.float64)
    if data.size == 0:
        return ChangeEvidence(0.0, 0.0, 0.0, 1.0)
    slower, faster = log_evidence_above(
        np.stack([data - shared_bias, -data - shared_bias]), reference_scale=reference_scale
    )
    changed = np.logaddexp(slower, faster) - np.log(2.0)
    p = float(np.exp(-max(0.0, changed.max())))
    return ChangeEvidence(float(slower[-1]), float(faster[-1]), float(changed[-1]), p)


def anytime_interval(
    log_ratios: ArrayLike,
    *,
    confidence: float = 0.95,
    shared_bias: float = SHARED_BIAS,
    reference_scale: float = REFERENCE_SCALE,
) -> tuple[float, float]:
    """Return an interval of log-ratios that contains the true change, with this confidence for all checks together.

    It holds the changes θ for which neither "at most θ" nor "at least θ" is refuted with evidence 2/(1 − confidence),
    widened by ``shared_bias``. With too few replicates an end is infinite rather than a guess.
    """
    data = np.asarray(log_ratios, dtype=np.float64)
    if data.size == 0:
        return (-np.inf, np.inf)
    log_needed = float(np.log(2.0 / (1.0 - confidence)))
    centre = hodges_lehmann(data)
    below = _reach(data - centre, log_needed, reference_scale)
    above = _reach(centre - data, log_needed, reference_scale)
    return (centre - below - shared_bias, centre + above + shared_bias)


def _reach(residuals: FloatArray, log_needed: float, reference_scale: float) -> float:
    """Return the distance below the centre beyond which every true value is refuted; infinite if there is none.

    Search from the outside in: outliers can leave a gap that is not refuted beyond a distance that is, and the true
    value may lie in it.
    """

    def refuted(distances: FloatArray) -> NDArray[np.bool_]:
        log_evidence = log_evidence_above(residuals + distances[:, np.newaxis], reference_scale=reference_scale)
        return log_evidence[:, -1] >= log_needed

    distances: FloatArray = np.concatenate([[0.0], _DISTANCES])
    nearest = float("inf")
    for _ in range(_REFINEMENTS + 1):
        possible = np.flatnonzero(~refuted(distances))
        # No distance is possible only if the centre itself is refuted; then the first gap is kept as it is.
        last = int(possible[-1]) if possible.size else 0
        if last + 1 == distances.size:
            return nearest
        nearest = float(distances[last + 1])
        distances = np.linspace(float(distances[last]), nearest, _SPLITS)
    return nearest
