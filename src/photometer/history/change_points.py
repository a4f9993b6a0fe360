"""Find where a history of times or metrics steps to another level: values of one machine in, change points out.

ruptures proposes where to cut (the optimal partition, PELT), and every proposal must then pass a test of our own: the
values on both sides, with outliers limited, must differ by more than noise, its correlation and the choice of the best
place explain, and a step must describe them better than a drift does. Counts need none of this: each of their steps is
a change.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from photometer.errors import ToolMissing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

# A new level is believed after this many commits: fewer are a stray measurement.
SHORTEST_LEVEL = 4
# A suite of 500 benchmarks then has one false change in two whole histories.
LARGEST_P = 0.001
# A smaller step in wall time is a matter of layout or of the machine's state (docs/precision.md).
SMALLEST_CHANGE = 0.005
# How many values on either side of a step are compared. More would show smaller steps, and take a drift for a step.
MOST_BESIDE = 100
# Values further from the medians around them are outliers, and count as this many standard deviations.
FARTHEST = 2.5
# Medians are of stretches of this many values, in which a level that is just long enough is the majority.
STRETCH = 2 * SHORTEST_LEVEL - 1
# PELT's price for a cut, in units of 2 log n: a low one, because the test throws out what is too much.
PENALTY = 1.0
# A drift beside a step is described by a polynomial of up to this degree.
CURVE_DEGREE = 2
# How many parameters the freely chosen place of a step counts for, against a drift.
PLACE_PARAMETERS = 1.5
# The standard deviation of a normal distribution is this many times its median absolute deviation.
_NORMAL = 1.4826
# What counts as noise in a history that has none, relative to its level: the last digits of a float.
_LAST_DIGITS = 1e-9
_TINY = 1e-300


@dataclasses.dataclass(frozen=True)
class ChangePoint:
    """`index` is the first value at the new level; `before` and `after` are the levels beside it.

    `p` is the probability that noise alone steps that much anywhere beside it.
    """

    index: int
    before: float
    after: float
    relative_change: float
    p: float


def find_changes(
    values: Sequence[float] | Values, *, largest_p: float = LARGEST_P, smallest_change: float = SMALLEST_CHANGE
) -> tuple[ChangePoint, ...]:
    """Return the steps of a history of one machine, oldest first.

    Values that are not finite are skipped. `smallest_change` is relative to the level before: 0.01 is one per cent.
    """
    numbers = np.asarray(values, dtype=np.float64)
    places = np.flatnonzero(np.isfinite(numbers))
    if places.size < 2 * SHORTEST_LEVEL:
        return ()
    numbers = numbers[places]
    # Noise of times is relative, so that logarithms have the same everywhere.
    are_logarithms = bool((numbers > 0).all())
    levels = np.log(numbers) if are_logarithms else numbers
    noise = _noise_of(levels)
    levels = _outliers_drawn_in(levels, noise)
    cuts = _proposed_cuts(levels, noise)
    calm = _Calm(levels, are_logarithms, noise, _stretch_of_noise(levels, cuts))
    steps = [_Step.at(calm, cuts, number) for number in range(len(cuts))]
    while steps:
        # The weakest goes first: without it, its neighbours are judged by more values.
        weakest = max(range(len(steps)), key=lambda number: steps[number].weakness(largest_p, smallest_change))
        if steps[weakest].weakness(largest_p, smallest_change) <= 0:
            break
        del steps[weakest]
        cuts = [step.cut for step in steps]
        for number in range(max(weakest - 1, 0), min(weakest + 1, len(steps))):
            steps[number] = _Step.at(calm, cuts, number)
    return tuple(
        ChangePoint(int(places[step.cut]), step.before, step.after, step.relative_change, step.p) for step in steps
    )


def relative_noise(values: Sequence[float] | Values) -> float:
    """Return the standard deviation from commit to commit, relative to the level; 0 if it is not known."""
    numbers = np.asarray(values, dtype=np.float64)
    numbers = numbers[np.isfinite(numbers) & (numbers > 0)]
    return _noise_of(np.log(numbers)) if numbers.size > SHORTEST_LEVEL else 0.0


@dataclasses.dataclass(frozen=True)
class _Step:
    """A proposal, judged."""

    cut: int
    before: float
    after: float
    p: float

    @classmethod
    def at(cls, calm: _Calm, cuts: Sequence[int], number: int) -> _Step:
        """Judge a cut by the values beside it, up to the next cut on either side."""
        cut = cuts[number]
        start = max(cuts[number - 1] if number else 0, cut - MOST_BESIDE)
        end = min(cuts[number + 1] if number + 1 < len(cuts) else calm.levels.size, cut + MOST_BESIDE)
        fit = _best_fit(calm.levels[start:end], cut - start)
        if fit is None:
            return cls(cut, math.nan, math.nan, 1.0)
        after = fit.before + fit.step
        before, after = (math.exp(fit.before), math.exp(after)) if calm.are_logarithms else (fit.before, after)
        return cls(cut, before, after, _p_of_step(fit, calm))

    @property
    def relative_change(self) -> float:
        return self.after / self.before - 1.0 if self.before else math.copysign(math.inf, self.after)

    def weakness(self, largest_p: float, smallest_change: float) -> float:
        """Return zero for a step that passes the tests, and otherwise a measure of how far it fails."""
        if self.p > largest_p:
            return 1.0 + self.p
        change = abs(self.relative_change)
        return 1.0 - change if change < smallest_change else 0.0


@dataclasses.dataclass(frozen=True)
class _Calm:
    """A history with its outliers limited, the standard deviation of its noise, and how far that is correlated."""

    levels: Values
    are_logarithms: bool
    noise: float
    stretch: float = 1.0


def _noise_of(levels: Values) -> float:
    """Return the standard deviation by the differences of neighbours, which steps and drifts hardly touch."""
    differences = np.abs(np.diff(levels))
    noise = _NORMAL * float(np.median(differences)) / math.sqrt(2)
    return max(noise, _LAST_DIGITS * float(np.abs(levels).max()), _TINY)


def _outliers_drawn_in(levels: Values, noise: float) -> Values:
    """Return the values; those far from all medians around them are moved to where outliers begin.

    In a stretch of seven, four values at a new level are the median, and three strays are not.
    """
    view = np.lib.stride_tricks.sliding_window_view
    medians = np.median(view(levels, STRETCH), axis=1)
    # Every value is part of up to seven stretches; at the ends, of fewer.
    around = view(np.pad(medians, STRETCH - 1, mode="edge"), STRETCH)
    return np.clip(levels, around.min(axis=1) - FARTHEST * noise, around.max(axis=1) + FARTHEST * noise)


def _proposed_cuts(levels: Values, noise: float) -> list[int]:
    """Return where the optimal partition into constant levels cuts."""
    try:
        from ruptures import KernelCPD
    except ImportError as error:
        raise ToolMissing(
            "finding changes of times needs ruptures, which is not installed",
            remedy="Install it: pip install photometer[history]",
        ) from error
    # In units of the noise, so that the penalty is the usual one.
    search = KernelCPD(kernel="linear", min_size=SHORTEST_LEVEL).fit((levels / noise).reshape(-1, 1))
    found = search.predict(pen=PENALTY * 2 * math.log(levels.size))
    return [int(cut) for cut in found[:-1]]


def _stretch_of_noise(levels: Values, cuts: Sequence[int]) -> float:
    """Return by how much correlation between neighbours widens the error of a mean: 1 for independent ones."""
    rest = np.concatenate([level - level.mean() for level in np.split(levels, cuts)])
    variance = float(rest @ rest)
    if not variance:
        return 1.0
    correlation = min(max(float(rest[:-1] @ rest[1:]) / variance, 0.0), 0.9)
    return math.sqrt((1 + correlation) / (1 - correlation))


@dataclasses.dataclass(frozen=True)
class _Fit:
    """A least-squares fit: the level just before the step, the step, its error, and Schwarz's criterion (BIC)."""

    criterion: float
    before: float
    step: float
    error_per_noise: float
    spread: float
    degree: int
    freedom: int
    size: int


def _fitted(levels: Values, place: int, degree: int, *, with_step: bool) -> _Fit:
    """Fit a polynomial, with or without a step at `place`."""
    # Zero at the last value before the step, where the constant then is the level.
    time = (np.arange(levels.size) - (place - 1)) / levels.size
    columns = [time**power for power in range(degree + 1)]
    if with_step:
        columns.insert(0, (np.arange(levels.size) >= place).astype(np.float64))
    design = np.column_stack(columns)
    inverse = np.linalg.inv(design.T @ design)
    weights = inverse @ (design.T @ levels)
    rest = levels - design @ weights
    unexplained = float(rest @ rest)
    freedom = levels.size - design.shape[1]
    parameters = design.shape[1] + PLACE_PARAMETERS * with_step
    return _Fit(
        criterion=levels.size * math.log(unexplained + _TINY) + parameters * math.log(levels.size),
        before=float(weights[1]) if with_step else math.nan,
        step=float(weights[0]),
        error_per_noise=math.sqrt(inverse[0, 0]),
        spread=math.sqrt(unexplained / freedom),
        degree=degree,
        freedom=freedom,
        size=levels.size,
    )


def _best_fit(levels: Values, place: int) -> _Fit | None:
    """Return the step with or without a drift beside it, whichever describes the values; None for a drift alone."""
    # A drift needs some values on both sides to be distinguished from a step.
    most = min(CURVE_DEGREE, min(place, levels.size - place) // SHORTEST_LEVEL)
    steps = [_fitted(levels, place, degree, with_step=True) for degree in range(most + 1)]
    drifts = [_fitted(levels, place, degree, with_step=False) for degree in range(1, CURVE_DEGREE + 1)]
    if min(drift.criterion for drift in drifts) < min(step.criterion for step in steps):
        return None
    # A drift that is imagined beside a step makes its size uncertain: it has to be twice as convincing.
    return min(steps, key=lambda step: step.criterion + step.degree * math.log(levels.size))


def _p_of_step(fit: _Fit, calm: _Calm) -> float:
    """Return the p-value of Student's test of the step, corrected for correlation and for the choice of its place."""
    from scipy.stats import t

    # A few values can agree by chance; the noise of the whole history cannot.
    error = max(fit.spread, calm.noise) * fit.error_per_noise * calm.stretch
    return min(1.0, 2 * float(t.sf(abs(fit.step) / error, fit.freedom)) * (fit.size - 1))
