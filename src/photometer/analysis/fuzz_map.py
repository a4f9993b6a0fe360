"""The map of a fuzz run: which inputs are faster, which slower, and what they have in common, in words.

In: trials. Out: a FuzzMap with the trials in order, the counts, and findings: the features of the inputs, and the
division of inputs that explains most of a figure. It needs neither torch nor a clock.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from photometer.errors import MeasurementError
from photometer.model.fuzz_trial import FuzzTrial, TensorFacts

# A side with fewer inputs than this is an anecdote, not a finding.
SMALLEST_SIDE = 4
SMALLEST_SIDE_SHARE = 0.05
# The number of shuffles, and the share of them that may do as well.
SHUFFLES = 199
CHANCE = 0.01
# Of features that explain nearly the same, the first in the list is named.
NEARLY = 0.98

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Feature:
    """One value per trial, and the words for either side of a division. Only numbers have a `subject`.

    The words for numbers and choices have a {} for the value. For a number, `when_true` says that it is reached.
    """

    values: tuple[Any, ...]
    when_true: str
    when_false: str
    subject: str = ""

    @property
    def is_number(self) -> bool:
        return bool(self.subject)

    @property
    def is_flag(self) -> bool:
        return all(isinstance(value, bool) for value in self.values)


@dataclass(frozen=True)
class Split:
    """A feature, the value it is divided at, and which inputs lie on the side of `when_true`."""

    feature: Feature
    value: Any
    inside: Mask
    gain: float

    @property
    def words_inside(self) -> str:
        return self.feature.when_true.format(_shown(self.value))

    @property
    def words_outside(self) -> str:
        return self.feature.when_false.format(_shown(self.value))


def best_split(figures: Floats, features: Sequence[Feature], random: np.random.Generator) -> Split | None:
    """Return the division that leaves the least variance inside its sides, unless chance finds one as good."""
    masks, owners = _divisions_of_values(features, figures.size)
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


def _divisions_of_values(features: Sequence[Feature], count: int) -> tuple[Mask, list[tuple[int, Any]]]:
    """Return every division to consider: one row of the mask each, with the feature's place and the value."""
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
    if len(distinct) > 64:  # enough to place a boundary: there are a few hundred inputs
        distinct = [distinct[round(i * (len(distinct) - 1) / 63)] for i in range(64)]
    return [_round_between(low, high) for low, high in itertools.pairwise(distinct)]


def _round_between(low: float, high: float) -> float:
    """Return the roundest number above `low` and up to `high`, so that sentences are easy to read."""
    for digits in range(1, 17):
        rounded = float(f"{high:.{digits - 1}e}")
        if low < rounded <= high:
            return rounded
    return high


def _gains(figures: Floats, masks: Mask) -> Floats:
    """Return the share of the variance that each division (row) explains, for each series of figures (column)."""
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


def features_of(trials: Sequence[FuzzTrial], explaining: Collection[str] | None = None) -> list[Feature]:
    """Return the features that differ between trials; `explaining` are the parameters to consider (None: all).

    Of features that explain equally much the first one wins: contiguity and size come before what follows from them.
    """
    if not trials:
        return []
    found: list[Feature] = []
    names = [tensor.name for tensor in trials[0].tensors]
    for build in (_contiguous, _elements, _rank, _dtype):
        found += [build(name, [_tensor(trial, name) for trial in trials]) for name in names]
    found += _parameters(trials, explaining)
    found += _same_shape(trials, names)
    for name in names:
        tensors = [_tensor(trial, name) for trial in trials]
        found += _traits(name, tensors)
        found += _sides(name, tensors)
    return [feature for feature in found if len(set(feature.values)) > 1]


def _tensor(trial: FuzzTrial, name: str) -> TensorFacts:
    return next(tensor for tensor in trial.tensors if tensor.name == name)


def _contiguous(name: str, tensors: list[TensorFacts]) -> Feature:
    values = tuple(tensor.is_contiguous is not False for tensor in tensors)
    return Feature(values, f"{name} is contiguous", f"{name} is not contiguous")


def _elements(name: str, tensors: list[TensorFacts]) -> Feature:
    return _number(
        [tensor.numel for tensor in tensors],
        f"{name} has {{}} elements or more",
        f"{name} has fewer than {{}} elements",
        f"the number of elements of {name}",
    )


def _rank(name: str, tensors: list[TensorFacts]) -> Feature:
    return _number(
        [len(tensor.shape) for tensor in tensors],
        f"{name} has {{}} dimensions or more",
        f"{name} has fewer than {{}} dimensions",
        f"the number of dimensions of {name}",
    )


def _dtype(name: str, tensors: list[TensorFacts]) -> Feature:
    return Feature(tuple(each.dtype for each in tensors), f"{name} is of {{}}", f"{name} is not of {{}}")


def _sides(name: str, tensors: list[TensorFacts]) -> Iterator[Feature]:
    pick: dict[str, Callable[[tuple[int, ...]], int]] = {
        "last dimension": lambda shape: shape[-1],
        "first dimension": lambda shape: shape[0],
        "smallest dimension": min,
    }
    if any(not tensor.shape for tensor in tensors):
        return
    for words, choose in pick.items():
        yield _number(
            [choose(tensor.shape) for tensor in tensors],
            f"the {words} of {name} is {{}} or longer",
            f"the {words} of {name} is shorter than {{}}",
            f"the {words} of {name}",
        )


def _traits(name: str, tensors: list[TensorFacts]) -> Iterator[Feature]:
    for trait in dict.fromkeys(trait for tensor in tensors for trait in tensor.traits):
        if all(trait in tensor.traits for tensor in tensors):
            yield _plain([tensor.traits[trait] for tensor in tensors], f"{trait.replace('_', ' ')} of {name}")


def _parameters(trials: Sequence[FuzzTrial], explaining: Collection[str] | None) -> Iterator[Feature]:
    for name in trials[0].params:
        if (explaining is None or name in explaining) and all(name in trial.params for trial in trials):
            yield _plain([trial.params[name] for trial in trials], name)


def _same_shape(trials: Sequence[FuzzTrial], names: list[str]) -> Iterator[Feature]:
    for place, first in enumerate(names):
        for second in names[place + 1 :]:
            values = tuple(_tensor(trial, first).shape == _tensor(trial, second).shape for trial in trials)
            yield Feature(values, f"{first} and {second} have the same shape", f"{first} and {second} differ in shape")


def _plain(values: list[Any], words: str) -> Feature:
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return _number(values, f"{words} is {{}} or more", f"{words} is less than {{}}", words)
    return Feature(tuple(values), f"{words} is {{}}", f"{words} is not {{}}")


def _number(values: Sequence[float], at_least: str, below: str, subject: str) -> Feature:
    return Feature(tuple(values), at_least, below, subject)


# A smaller difference is not worth mentioning, however certain it is.
SAME_WITHIN = math.log(1.03)
# An input is called slower or faster if the difference is this many of its own standard errors.
STANDARD_ERRORS = 3.0
# With fewer inputs there are no findings about what they have in common.
FEWEST_TRIALS = 8
# Which rank correlations are named, and how many of them.
STRONG_CORRELATION = 0.5
CHANCE_OF_CORRELATION = 0.01
MOST_CORRELATIONS = 2
# Features that correlate this closely say the same thing, so only one of them is shown.
SAME_THING = 0.9
_DEPTH = 2


@dataclass(frozen=True)
class FuzzMap:
    """The result of a fuzz run. `trials` are those that were timed, the largest ratio (or time per element) first."""

    statements: tuple[str, ...]
    trials: tuple[FuzzTrial, ...]
    failed: tuple[FuzzTrial, ...]
    slower: int
    faster: int
    typical: float
    findings: tuple[str, ...]
    shown_params: tuple[str, ...] = ()

    @property
    def is_comparison(self) -> bool:
        """Return whether two statements were timed against each other."""
        return len(self.statements) > 1

    def describe(self, trial: FuzzTrial) -> str:
        """Return the tensors of an input, and those parameters that do not show in its tensors."""
        settings = [f"{name}={trial.params[name]}" for name in self.shown_params if name in trial.params]
        return ", ".join([trial.text, *settings])

    @property
    def headline(self) -> str:
        """Return the result in one sentence."""
        count = len(self.trials)
        if not count:
            return "No input could be timed."
        if not self.is_comparison:
            return f"Typically {self.typical * 1e9:.3g} ns per element over {_inputs(count)}."
        return (
            f"Slower on {self.slower}, faster on {self.faster}, the same on {count - self.slower - self.faster}"
            f" of {_inputs(count)}; typically {self.typical:.3g} times as long as the other."
        )


def make_map(
    statements: Sequence[str],
    trials: Sequence[FuzzTrial],
    explaining: Collection[str] | None = None,
    shown_params: Sequence[str] = (),
    seed: int = 0,
) -> FuzzMap:
    """Return the map of one run. `explaining` are the parameters that may explain a difference (None: all of them).

    `shown_params` are those that belong to the description of an input, besides its tensors.
    """
    timed = [trial for trial in trials if trial.failure is None]
    figures = np.array([figure_of(trial) for trial in timed], dtype=np.float64)
    order = np.argsort(-figures, kind="stable")
    verdicts = [verdict_of(trial) for trial in timed]
    return FuzzMap(
        statements=tuple(statements),
        trials=tuple(timed[place] for place in order),
        failed=tuple(trial for trial in trials if trial.failure is not None),
        slower=verdicts.count(1),
        faster=verdicts.count(-1),
        typical=float(np.exp(np.median(figures))) if timed else math.nan,
        findings=_findings(timed, figures, explaining, seed) if len(timed) >= FEWEST_TRIALS else (),
        shown_params=tuple(shown_params),
    )


def figure_of(trial: FuzzTrial) -> float:
    """Return the log of the ratio, or of the seconds per element if there is only one statement."""
    if trial.log_ratio is not None:
        return trial.log_ratio
    if not trial.seconds_per_run or not 0.0 < trial.seconds_per_run[0] < math.inf:
        raise MeasurementError(f"input {trial.index} of a fuzz run has neither times nor a failure")
    # Not the log of the quotient: a damaged file may have more elements than a float can hold.
    return math.log(trial.seconds_per_run[0]) - math.log(max(trial.elements, 1))


def verdict_of(trial: FuzzTrial) -> int:
    """Return 1 for slower, -1 for faster, 0 if this input shows no difference."""
    if trial.log_ratio is None:
        return 0
    sure = max(SAME_WITHIN, STANDARD_ERRORS * (trial.standard_error or 0.0))
    return (trial.log_ratio > sure) - (trial.log_ratio < -sure)


def _findings(
    trials: Sequence[FuzzTrial], figures: Floats, explaining: Collection[str] | None, seed: int
) -> tuple[str, ...]:
    features = features_of(trials, explaining)
    is_ratio = trials[0].log_ratio is not None
    random = np.random.default_rng(seed)
    named: list[Feature] = []
    lines = _divisions(figures, features, is_ratio, random, named, "", _DEPTH)
    lines += _correlations(figures, features, is_ratio, named)
    if not lines:
        low, high = np.exp(np.quantile(figures, [0.05, 0.95]))
        spread = f"{low:.3g} to {high:.3g} times" if is_ratio else f"{low * 1e9:.3g} to {high * 1e9:.3g} ns per element"
        lines = [f"Nothing known about the inputs explains the differences between them (nine in ten are {spread})."]
    return tuple(lines)


def _divisions(
    figures: Floats,
    features: Sequence[Feature],
    is_ratio: bool,
    random: np.random.Generator,
    named: list[Feature],
    among: str,
    depth: int,
) -> list[str]:
    """Return the best division in words, then the best ones inside each of its sides."""
    split = best_split(figures, features, random) if depth and len(figures) >= FEWEST_TRIALS else None
    if split is None:
        return []
    inside, outside = figures[split.inside], figures[~split.inside]
    if abs(float(np.median(inside) - np.median(outside))) < SAME_WITHIN:
        return []
    named.append(split.feature)
    sides = [(inside, split.inside, split.words_inside), (outside, ~split.inside, split.words_outside)]
    sides.sort(key=lambda side: -float(np.median(side[0])))
    lead = "slower" if is_ratio else "slowest"
    if is_ratio and np.median(sides[0][0]) < SAME_WITHIN:  # nothing is slower: say what is faster
        lead = "faster"
        sides.reverse()
    words_of_sides = "; ".join(f"where {words}: {_typical(side, is_ratio)}" for side, _, words in sides)
    start = f"Among those where {among}, {lead}" if among else lead.capitalize()
    lines = [f"{start} {words_of_sides}."]
    for _, mask, words in sides:
        narrowed = [
            Feature(tuple(np.array(each.values, dtype=object)[mask]), each.when_true, each.when_false, each.subject)
            for each in features
        ]
        below = f"{among} and {words}" if among else words
        lines += _divisions(figures[mask], narrowed, is_ratio, random, named, below, depth - 1)
    return lines


def _correlations(figures: Floats, features: Sequence[Feature], is_ratio: bool, named: Sequence[Feature]) -> list[str]:
    """Return the features with which the figure grows or falls, the strongest first."""
    from scipy.stats import spearmanr

    numbers = [feature for feature in features if feature.is_number]
    named_subjects = {feature.subject for feature in named}
    ranked = []
    for feature in numbers:
        correlation = spearmanr(np.array(feature.values, dtype=np.float64), figures)
        ranked.append((float(correlation.statistic), float(correlation.pvalue), feature))
    ranked.sort(key=lambda entry: -abs(entry[0]))
    kept = [feature for feature in numbers if feature.subject in named_subjects]
    lines: list[str] = []
    for strength, chance, feature in ranked:
        strong = abs(strength) >= STRONG_CORRELATION and chance < CHANCE_OF_CORRELATION / len(numbers)
        if not strong or len(lines) == MOST_CORRELATIONS or any(_same_thing(feature, other) for other in kept):
            continue
        kept.append(feature)
        what = "The ratio" if is_ratio else "The time per element"
        lines.append(
            f"{what} {'grows' if strength > 0 else 'falls'} with {feature.subject} (rank correlation {strength:+.2f})."
        )
    return lines


def _same_thing(feature: Feature, other: Feature) -> bool:
    from scipy.stats import spearmanr

    correlation = spearmanr(np.array(feature.values, dtype=np.float64), np.array(other.values, dtype=np.float64))
    return abs(float(correlation.statistic)) >= SAME_THING


def _typical(figures: Floats, is_ratio: bool) -> str:
    middle = math.exp(float(np.median(figures)))
    shown = f"{middle:.2f} times as long" if is_ratio else f"{middle * 1e9:.3g} ns per element"
    return f"{shown} ({_inputs(len(figures))})"


def _inputs(count: int) -> str:
    return "1 input" if count == 1 else f"{count} inputs"
