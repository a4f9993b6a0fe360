"""Does a state that a machine rarely takes become a run's figure? Simulated visits of two runs of one statement.

    python benchmarks/visit_simulation.py [--runs 4000] [--keep docs/figures/visit_states.txt]

Each visit meets the machine in a state: its usual one, or with some probability a faster or slower one, that lasts for
the visit. Visits are taken as a run takes them, from five to twelve. Printed per machine and figure: how often two
runs agree, how often a run's interval holds the other's figure, how often a run is off by more than 2 % because of the
rare state, and how many visits it took. No clock is read; seeds are fixed.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from photometer.stats.undisturbed import (
    LOW_VISITS,
    MOST_VISITS,
    undisturbed,
    undisturbed_interval,
    visit_levels,
    visits_wanted,
)

BLOCKS = 40
# What layouts and blocks do, relative: as in the kept visits of docs/repeatability.md.
LAYOUT_SCATTER, BLOCK_SCATTER = 0.006, 0.01
# Per machine: states as (probability of a visit, factor of the time). The rest of the visits are in the usual state.
MACHINES: dict[str, tuple[tuple[float, float], ...]] = {
    "one state": (),
    "rarely 10 % faster (3 % of visits)": ((0.03, 0.90),),
    "rarely 30 % faster (3 % of visits)": ((0.03, 0.70),),
    "rarely 10 % slower (3 % of visits)": ((0.03, 1.10),),
    "rarely 10 % slower (10 % of visits)": ((0.10, 1.10),),
    "half the visits slower": ((0.25, 1.08), (0.25, 1.35)),
    "half slower, rarely 10 % faster": ((0.25, 1.08), (0.25, 1.35), (0.03, 0.90)),
}
Visits = list[list[float]]


def mean_of_lowest(levels: Sequence[float]) -> float:
    return float(np.mean(levels[: math.ceil(LOW_VISITS * len(levels))]))


FIGURES: dict[str, Callable[[Sequence[float]], float]] = {
    "highest of the lowest quarter (ours)": undisturbed,
    "mean of the lowest quarter": mean_of_lowest,
    "median of the visits": lambda levels: float(np.median(levels)),
}


def visit(generator: np.random.Generator, states: tuple[tuple[float, float], ...], layout: float) -> list[float]:
    draw, factor = generator.random(), 1.0
    for probability, slower in states:
        if draw < probability:
            factor = slower
            break
        draw -= probability
    blocks = np.exp(layout + np.abs(generator.normal(0.0, BLOCK_SCATTER, BLOCKS))) * factor
    return [float(block) for block in blocks]


def two_runs(generator: np.random.Generator, states: tuple[tuple[float, float], ...]) -> list[Visits]:
    """Return the visits of two runs, which have the same layouts."""
    layouts = generator.normal(0.0, LAYOUT_SCATTER, MOST_VISITS)
    runs: list[Visits] = [[], []]
    for visits in runs:
        while len(visits) < MOST_VISITS and len(visits) < visits_wanted(visits):
            visits.append(visit(generator, states, layouts[len(visits)]))
    return runs


def print_table(runs: int) -> None:
    print(f"{runs} pairs of runs of one statement; within: their figures agree so far\n")
    print("| machine | figure | within 1 % | 2 % | 5 % | off by more than 2 % | held | visits |")
    print("| --- | --- |" + " ---: |" * 6)
    for machine, states in MACHINES.items():
        generator = np.random.default_rng(8)
        both = [two_runs(generator, states) for _ in range(runs)]
        levels = [[visit_levels(each) for each in pair] for pair in both]
        typical = {name: float(np.median([figure(one) for one, _ in levels])) for name, figure in FIGURES.items()}
        for name, figure in FIGURES.items():
            found = np.array([[figure(one), figure(other)] for one, other in levels])
            apart = np.abs(np.log(found[:, 0] / found[:, 1]))
            off = np.mean(np.abs(np.log(found[:, 0] / typical[name])) > math.log1p(0.02))
            spans = [
                undisturbed_interval(one, min(map(min, pair[0]))) for (one, _), pair in zip(levels, both, strict=True)
            ]
            held = np.mean([low <= f <= high for (low, high), f in zip(spans, found[:, 1], strict=True)])
            cells = [f"{np.mean(apart < math.log1p(bound)):.1%}" for bound in (0.01, 0.02, 0.05)]
            count = np.mean([len(pair[0]) for pair in both])
            print(f"| {machine} | {name} | {' | '.join(cells)} | {off:.1%} | {held:.1%} | {count:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4000, help="pairs of runs per machine (default 4000)")
    parser.add_argument("--keep", type=Path, help="write what is printed to this file")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        if options.keep is not None:
            stack.enter_context(contextlib.redirect_stdout(stack.enter_context(options.keep.open("w"))))
        print_table(options.runs)


if __name__ == "__main__":
    main()
