"""How often is a verdict wrong, how soon is it right? Simulated replicates and blocks, ours beside what people do.

Prints four tables: the words that comparisons end with, the scatter of estimators of one replicate, sequential
verdicts over replicates, and tests on pooled blocks. No clock is read; seeds are fixed.

    python benchmarks/verdict_simulation.py [--comparisons 1000]
    python benchmarks/verdict_simulation.py --words --keep docs/figures/verdict_words.txt     the first table alone
    python benchmarks/verdict_simulation.py --two-states                                      noise that breaks it
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.stats.replicate_noise import KINDS, Noise

from photometer.analysis.judge import DEFAULT_FALSE_ALARM, Criteria, judge_replicates
from photometer.analysis.suite_judge import Question, SuiteJudge, held_back
from photometer.analysis.verdict import CHANGED_WORDS, PROBABLE_WORDS, Verdict
from photometer.stats.anytime_evidence import SHARED_BIAS, log_evidence_above
from photometer.stats.replicate import (
    FLOOR_QUANTILES,
    ReplicateEstimate,
    estimate_replicate,
    hodges_lehmann,
    replicate_interval,
)

LOOKS = 40  # replicates of 0.25 s in 10 s
EFFECTS = {"+5 ns": 0.0042, "+10 ns": 0.0083, "+100 ns": 0.08}  # on a statement of 1.2 us
NAIVE_LEVEL = 0.01
Array = np.ndarray


def block_noise(kind: str, generator: np.random.Generator, pairs: int) -> tuple[Array, Array]:
    """Logs of both sides' block times with nothing changed; neighbours share what lasts longer than a block."""
    shared = np.zeros(pairs)
    own = generator.normal(0.0, 0.005, (2, pairs))
    if kind == "drifting clock":
        shared = np.cumsum(generator.normal(0.0, 0.002, pairs))
    elif kind == "heavy tails":
        own = generator.standard_t(2.0, (2, pairs)) * 0.005
    elif kind == "interrupts":
        own += (generator.random((2, pairs)) < 0.05) * generator.exponential(0.3, (2, pairs))
    elif kind == "contended core":
        # In bursts of ten pairs a neighbour slows both sides, each block by its own amount.
        burst = np.repeat(generator.random(-(-pairs // 10)) < 0.6, 10)[:pairs]
        own += burst * generator.uniform(0.02, 0.5, (2, pairs))
    elif kind == "two states":
        own += np.where(generator.random((2, pairs)) < 0.5, 0.025, 0.0)
    return shared + own[0], shared + own[1]


def of_sides(statistic: Callable[[Array], float]) -> Callable[[Array, Array], float]:
    """Return the estimator that takes the same of both sides' blocks."""
    return lambda a, b: float(statistic(b) - statistic(a))


# Of the logs of both sides' block times.
ESTIMATORS: dict[str, Callable[[Array, Array], float]] = {
    "floors and pairs (ours)": lambda a, b: estimate_replicate(np.exp(a), np.exp(b)).log_ratio,
    "floors, 5 % to 15 %": of_sides(lambda side: np.quantile(side, FLOOR_QUANTILES).mean()),
    "pairs, middle half": lambda a, b: float(stats.trim_mean(b - a, 0.25)),
    "pairs, H-L": lambda a, b: hodges_lehmann(b - a),
    "pairs, median": lambda a, b: float(np.median(b - a)),
    "minima": of_sides(np.min),
    "second lowest": of_sides(lambda side: np.partition(side, 1)[1]),
    "lower quartiles": of_sides(lambda side: np.quantile(side, 0.25)),
    "medians": of_sides(np.median),
    "trimmed means": of_sides(lambda side: stats.trim_mean(side, 0.1)),
    "means": of_sides(lambda side: np.log(np.mean(np.exp(side)))),
}


def print_estimators(repeats: int) -> None:
    print("Standard deviation of one replicate's log-ratio, in %, by estimator (250 pairs of blocks)\n")
    print("| blocks' noise | " + " | ".join(ESTIMATORS) + " |")
    print("| --- |" + " ---: |" * len(ESTIMATORS))
    for kind in ("plain", "drifting clock", "heavy tails", "interrupts", "contended core", "two states"):
        generator = np.random.default_rng(1)
        data = [block_noise(kind, generator, 250) for _ in range(repeats)]
        cells = [f"{100 * np.std([estimate(a, b) for a, b in data]):.3f}" for estimate in ESTIMATORS.values()]
        print(f"| {kind} | " + " | ".join(cells) + " |")


def first_ours(data: Array) -> Array:
    """Number of replicates at the first look that calls a change; LOOKS + 1 if none does."""
    above, below = log_evidence_above(data - SHARED_BIAS), log_evidence_above(-data - SHARED_BIAS)
    return _first(np.logaddexp(above, below) - np.log(2.0) >= -np.log(DEFAULT_FALSE_ALARM))


def first_naive_t(data: Array) -> Array:
    """A t-test at 1 % after each replicate from the third on."""
    return _first(_t_p_values(data) < NAIVE_LEVEL)


def first_t_mixture(data: Array) -> Array:
    """The always-valid t-test (Lai; Wang and Ramdas) with a normal mixture over the standardised effect."""
    count = np.arange(1, data.shape[1] + 1)
    t_squared = _t_values(data) ** 2
    freedom = np.maximum(count - 1, 1)
    shrink = 1.0 / (count + 1.0)
    log_factor = 0.5 * np.log(shrink) + count / 2.0 * (
        np.log1p(t_squared / freedom) - np.log1p(shrink * t_squared / freedom)
    )
    return _first(log_factor >= -np.log(DEFAULT_FALSE_ALARM))


def _t_values(data: Array) -> Array:
    count = np.arange(1, data.shape[1] + 1)
    mean = np.cumsum(data, axis=1) / count
    variance = (np.cumsum(data**2, axis=1) - count * mean**2) / np.maximum(count - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = mean / np.sqrt(np.maximum(variance, 1e-18) / count)
    values[:, :2] = 0.0
    return values


def _t_p_values(data: Array) -> Array:
    freedom = np.maximum(np.arange(data.shape[1]), 1)
    return 2.0 * stats.t.sf(np.abs(_t_values(data)), freedom)


def _first(hit: Array) -> Array:
    return np.where(hit.any(axis=1), hit.argmax(axis=1) + 1, LOOKS + 1)


# A quiet machine's kinds are shown together; other load makes them as wide as these.
NOISES: dict[str, dict[str, Noise]] = {
    "quiet, seven kinds": KINDS,
    "normal, 1.2 %": {"normal": lambda generator, shape: generator.normal(0.0, 0.012, shape)},
    "heavy tails, 3 %": {"heavy": lambda generator, shape: generator.standard_t(2.0, shape) * 0.03},
}
# What is asked, and true changes: the verdict, or whether it is slower by more than a gate allows.
QUESTIONS: dict[str, tuple[float | None, tuple[float, ...]]] = {
    "verdict": (None, (0.0, 0.01, 0.03)),
    "gate at 5 %": (0.05, (0.0, 0.03, 0.08)),
}


def judged(log_ratios: Array, question: Question) -> Verdict:
    """Measure as a comparison does: until the question is answered, or the replicates are used up."""
    judge = SuiteJudge(1, questions=[question], seconds_per_replicate=0.25)
    for value in log_ratios:
        if judge.next(1e9) is None:
            break
        ratio = float(value)
        judge.add(0, ReplicateEstimate(ratio, ratio, 0.001, 1e-6, 1e-6 * float(np.exp(ratio)), 200), 0.25)
    return held_back(judge_replicates(judge.estimates(0), Criteria(margin=question.margin), forecast=False))


def is_wrong(verdict: Verdict, effect: float) -> bool:
    """Whether the word says what is not so: a change of nothing or in the other direction, or a bound too narrow."""
    if verdict.bound is not None:
        return abs(effect) > np.log1p(verdict.bound)
    return verdict.decided and np.sign(effect) != (1 if verdict.verdict.endswith("slower") else -1)


def two_states(generator: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Whole replicates in one of two states 3 % apart, which hardly scatter within each: the rates do not hold here."""
    return generator.normal(0.0, 0.001, shape) + generator.choice((-0.015, 0.015), shape)


def print_two_states(comparisons: int) -> None:
    rows = two_states(np.random.default_rng(4), (comparisons, LOOKS))
    found = [judged(row, Question(0.003, None)) for row in rows]
    called = np.mean([verdict.verdict in CALLED for verdict in found])
    print(f"two states 3 % apart, nothing differs: {called:.1%} of {comparisons} comparisons called slower or faster")


def print_words(comparisons: int) -> None:
    print(
        f"Words of {comparisons} comparisons per kind of noise, of at most {LOOKS} replicates, margin 0.3 %; wrong: of "
        "the worst kind\n"
    )
    print(
        "| question | true change | noise of replicates | called, wrong | probably, wrong | bound, wrong | called "
        "| probably | same within 0.3 % | same within 1 % | same within 10 % | undecided | replicates |"
    )
    print("| --- | ---: | --- |" + " ---: |" * 10)
    for question, (allowed, changes) in QUESTIONS.items():
        for change, (name, kinds) in itertools.product(changes, NOISES.items()):
            effect = float(np.log1p(change))
            found = [
                [judged(row + effect, Question(0.003, allowed)) for row in noise(np.random.default_rng(4), shape)]
                for noise in kinds.values()
                for shape in [(comparisons, LOOKS)]
            ]
            cells = [*_wrong_shares(found, effect), *_word_shares([verdict for kind in found for verdict in kind])]
            print(f"| {question} | {change:+.0%} | {name} | " + " | ".join(cells) + " |", flush=True)


CALLED, PROBABLE, BOUND = (CHANGED_WORDS, PROBABLE_WORDS, ("same",))


def _wrong_shares(found: list[list[Verdict]], effect: float) -> list[str]:
    """Return the shares of wrong words, of the kind of noise that has most of them."""
    return [
        f"{max(np.mean([v.verdict in words and is_wrong(v, effect) for v in kind]) for kind in found):.1%}"
        for words in (CALLED, PROBABLE, BOUND)
    ]


def _word_shares(found: list[Verdict]) -> list[str]:
    hits = [
        [v.verdict in CALLED for v in found],
        [v.verdict in PROBABLE for v in found],
        *([low < (v.bound or 0.0) <= high for v in found] for low, high in ((0.0, 0.003), (0.003, 0.01), (0.01, 0.1))),
        [v.verdict == "undecided" for v in found],
    ]
    return [*(f"{np.mean(each):.1%}" for each in hits), f"{np.median([v.replicates for v in found]):.0f}"]


METHODS = {"ours": first_ours, "t mixture, always valid": first_t_mixture, "t-test 1 %, repeated": first_naive_t}


def print_verdicts(comparisons: int) -> None:
    print(f"\nVerdicts over up to {LOOKS} replicates with a look after each, {comparisons} comparisons a cell\n")
    print(
        "| replicates' noise | method | false alarms | +5 ns in 40 (in 20) | +10 ns in 40 (in 20) | +100 ns in 4 "
        "| median replicates for +5, +10, +100 ns | interval holds truth at stop |"
    )
    print("| --- | --- |" + " ---: |" * 6)
    for kind, noise in KINDS.items():
        data = noise(np.random.default_rng(2), (comparisons, LOOKS))
        for method, first in METHODS.items():
            alarms = np.mean(first(data) <= LOOKS)
            stops = {name: first(data + effect) for name, effect in EFFECTS.items()}
            found = [f"{np.mean(stops[n] <= 40):.1%} ({np.mean(stops[n] <= 20):.1%})" for n in ("+5 ns", "+10 ns")]
            medians = " ".join(f"{np.median(stop):.0f}" for stop in stops.values())
            holds = f"{_coverage(data, stops['+5 ns']):.1%}" if method == "ours" else ""
            print(
                f"| {kind} | {method} | {alarms:.2%} | {found[0]} | {found[1]} "
                f"| {np.mean(stops['+100 ns'] <= 4):.1%} | {medians} | {holds} |"
            )


def _coverage(data: Array, stops: Array, effect: float = EFFECTS["+5 ns"], most: int = 300) -> float:
    """Share of 95 % intervals, taken at each comparison's own stopping time, that hold the true change."""
    held = 0
    rows = min(most, len(data))
    for row, stop in zip(data[:rows] + effect, stops[:rows], strict=True):
        low, high = replicate_interval(row[:stop])
        held += low <= effect <= high
    return held / rows


def print_pooled_blocks(comparisons: int) -> None:
    print(
        f"\nTests on the blocks themselves (12 forks a side, 100 blocks each, pooled): false alarms of {comparisons}\n"
    )
    print("| forks | Mann-Whitney at 1 % | t-test at 1 % | disjoint quartile ranges |")
    print("| --- |" + " ---: |" * 3)
    for label, bias in (
        ("no bias of their own", 0.0),
        ("bias of 0.25 % (frozen layout)", 0.0025),
        ("bias of 3 %", 0.03),
    ):
        generator = np.random.default_rng(3)
        alarms = np.zeros(3)
        for _ in range(comparisons):
            side_a, side_b = (
                (generator.normal(0.0, bias, (12, 1)) + generator.normal(0.0, 0.005, (12, 100))).ravel()
                for _ in range(2)
            )
            quartiles_a, quartiles_b = np.quantile(side_a, (0.25, 0.75)), np.quantile(side_b, (0.25, 0.75))
            alarms += (
                stats.mannwhitneyu(side_a, side_b).pvalue < NAIVE_LEVEL,
                stats.ttest_ind(side_a, side_b).pvalue < NAIVE_LEVEL,
                quartiles_a[1] < quartiles_b[0] or quartiles_b[1] < quartiles_a[0],
            )
        print(f"| {label} | " + " | ".join(f"{share:.1%}" for share in alarms / comparisons) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=1000, help="simulated comparisons a cell (default 1000)")
    parser.add_argument("--words", action="store_true", help="print the table of words alone")
    parser.add_argument("--two-states", action="store_true", help="print how often noise of two states fools it")
    parser.add_argument("--keep", type=Path, help="write what is printed to this file")
    options = parser.parse_args()
    comparisons = options.comparisons
    with contextlib.ExitStack() as stack:
        if options.keep is not None:
            stack.enter_context(contextlib.redirect_stdout(stack.enter_context(options.keep.open("w"))))
        if options.two_states:
            print_two_states(comparisons)
            return
        print_words(comparisons)
        if not options.words:
            print()
            print_others(comparisons)


def print_others(comparisons: int) -> None:
    print_estimators(repeats=max(20, comparisons // 5))
    print_verdicts(comparisons)
    print_pooled_blocks(max(20, comparisons // 3))


if __name__ == "__main__":
    main()
