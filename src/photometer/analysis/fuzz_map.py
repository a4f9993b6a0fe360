"""The map of a fuzz run: which inputs are faster, which slower, and what they have in common, in words.

In: trials. Out: a FuzzMap with the trials in order, the counts, and findings. It needs neither torch nor a clock.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from photometer.analysis.fuzz_split import Feature, Floats, best_split, features_of
from photometer.errors import MeasurementError
from photometer.model.fuzz_trial import FuzzTrial

# A smaller difference is not worth mentioning, however certain it is.
SAME_WITHIN = math.log(1.03)
# An input is called slower or faster if the difference is this many of its own standard errors.
STANDARD_ERRORS = 3.0
# With fewer inputs, nothing is said about what they have in common.
FEWEST_TRIALS = 8
# Which rank correlations are named, and how many of them.
STRONG_CORRELATION = 0.5
CHANCE_OF_CORRELATION = 0.01
MOST_CORRELATIONS = 2
# Features that correlate this closely say the same thing, which is said once.
SAME_THING = 0.9
_DEPTH = 2


@dataclass(frozen=True)
class FuzzMap:
    """What a fuzz run has shown. `trials` are those that were timed, the largest ratio (or time per element) first."""

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
    return math.log(trial.seconds_per_run[0] / max(trial.elements, 1))


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
    """Return what the figure grows or falls with, the strongest first."""
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
