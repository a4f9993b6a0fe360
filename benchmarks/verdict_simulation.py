"""How often is a verdict wrong, how soon is it right? Simulated replicates and blocks, ours beside what people do.

Prints three tables: the scatter of estimators of one replicate, sequential verdicts over replicates, and tests on
pooled blocks. Run: python benchmarks/verdict_simulation.py [--comparisons 1000]. No clock is read; seeds are fixed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.stats.replicate_noise import KINDS

from photometer.analysis.judge import DEFAULT_FALSE_ALARM
from photometer.stats.anytime_evidence import SHARED_BIAS, log_evidence_above
from photometer.stats.replicate import estimate_replicate
from photometer.stats.replicate_interval import hodges_lehmann, replicate_interval

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


ESTIMATORS: dict[str, Callable[[Array, Array], float]] = {
    "floor (ours)": lambda a, b: estimate_replicate(np.exp(a), np.exp(b)).log_ratio,
    "pairs, trimmed": lambda a, b: float(stats.trim_mean(b - a, 0.1)),
    "pairs, H-L": lambda a, b: hodges_lehmann(b - a),
    "pairs, median": lambda a, b: float(np.median(b - a)),
    "medians": lambda a, b: float(np.median(b) - np.median(a)),
    "minima": lambda a, b: float(b.min() - a.min()),
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
    comparisons = parser.parse_args().comparisons
    print_estimators(repeats=max(20, comparisons // 5))
    print_verdicts(comparisons)
    print_pooled_blocks(max(20, comparisons // 3))


if __name__ == "__main__":
    main()
