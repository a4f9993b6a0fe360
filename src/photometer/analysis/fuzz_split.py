"""The division of inputs that tells most about a figure, and whether chance alone would have found as good a one.

In come one figure an input and the inputs' features; out comes a division, or None. Chance is judged by shuffling the
figures: with dozens of features something always seems to matter.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from photometer.analysis.fuzz_feature import Feature

# Fewer inputs on one side than this are an anecdote, not a finding.
SMALLEST_SIDE = 4
SMALLEST_SIDE_SHARE = 0.05
# Shuffles for the judgement of chance, and the share of them that may do as well.
SHUFFLES = 199
CHANCE = 0.01
# Of two features that explain nearly the same, the one that comes first in the list is told.
NEARLY = 0.98

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Split:
    """A feature, the value it is divided at, and which inputs lie on the side that `is_so` names."""

    feature: Feature
    value: Any
    inside: Mask
    gain: float

    @property
    def words_inside(self) -> str:
        return self.feature.is_so.format(_shown(self.value))

    @property
    def words_outside(self) -> str:
        return self.feature.is_not.format(_shown(self.value))


def best_split(figures: Floats, features: Sequence[Feature], random: np.random.Generator) -> Split | None:
    """The division that leaves the least variance inside its sides, unless chance finds one as good."""
    masks, owners = _divisions(features, figures.size)
    if not owners:
        return None
    gains = _gains(figures[:, np.newaxis], masks)[:, 0]
    # Gains are shares of the variance, so the first feature nearly as good as the best is simply the first in the list.
    chosen = int(np.argmax(gains >= NEARLY * gains.max()))
    chosen_feature = owners[chosen][0]
    same = [place for place, (feature, _) in enumerate(owners) if feature == chosen_feature]
    chosen = max(same, key=lambda place: gains[place])
    shuffles = np.stack([random.permutation(figures) for _ in range(SHUFFLES)], axis=1)
    as_good = np.count_nonzero(_gains(shuffles, masks).max(axis=0) >= gains[chosen])
    if (1 + as_good) / (1 + SHUFFLES) > CHANCE:
        return None
    feature_place, value = owners[chosen]
    return Split(features[feature_place], value, masks[chosen], float(gains[chosen]))


def _divisions(features: Sequence[Feature], count: int) -> tuple[Mask, list[tuple[int, Any]]]:
    """Every division worth a look: a row of the mask each, with the feature's place and the value."""
    smallest = max(SMALLEST_SIDE, round(SMALLEST_SIDE_SHARE * count))
    masks: list[Mask] = []
    owners: list[tuple[int, Any]] = []
    for place, feature in enumerate(features):
        values = np.array(feature.values, dtype=np.float64 if feature.is_number else object)
        for value in _cuts(feature):
            mask = np.asarray(values >= value if feature.is_number else values == value, dtype=np.bool_)
            if smallest <= np.count_nonzero(mask) <= count - smallest:
                masks.append(mask)
                owners.append((place, value))
    return np.array(masks, dtype=np.bool_).reshape(len(masks), count), owners


def _cuts(feature: Feature) -> list[Any]:
    if feature.is_flag:
        return [True]
    distinct = sorted(set(feature.values)) if feature.is_number else list(dict.fromkeys(feature.values))
    if not feature.is_number:
        return distinct
    if len(distinct) > 64:  # enough to place a boundary; inputs are few hundreds
        distinct = [distinct[round(i * (len(distinct) - 1) / 63)] for i in range(64)]
    return [_round_between(low, high) for low, high in itertools.pairwise(distinct)]


def _round_between(low: float, high: float) -> float:
    """The roundest number over `low` and up to `high`, so that the words are easy to read."""
    for digits in range(1, 17):
        rounded = float(f"{high:.{digits - 1}e}")
        if low < rounded <= high:
            return rounded
    return high


def _gains(figures: Floats, masks: Mask) -> Floats:
    """The share of the variance that each division (row) explains, for each series of figures (column)."""
    centred = figures - figures.mean(axis=0)
    total = np.sum(centred**2, axis=0)
    inside = masks.sum(axis=1)
    sums = masks.astype(np.float64) @ centred
    # The sums of the two sides are opposite, so what they explain is this much of the total.
    explained = sums**2 * (1 / inside + 1 / (len(figures) - inside))[:, np.newaxis]
    shares: Floats = np.divide(explained, total, out=np.zeros_like(explained), where=total > 0)
    return shares


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
