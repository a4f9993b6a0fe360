"""How many steps of made-up histories are found, missed, and imagined: ours beside Apache Otava and asv.

Histories of 100 to 2,000 commits with noise of 1 %, steps of 1, 3 and 10 % and none, with and without a slow drift,
correlated noise or outliers. No clock is part of the result; seeds are fixed. The other two are no dependencies of
photometer and go into a folder of their own (Otava's pins would replace numpy):

    python -m pip install --target others asv && python -m pip install --target others --no-deps apache-otava
    PYTHONPATH=others python benchmarks/change_points.py [--quick] [--unseen]
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from photometer.history.change_points import find_changes

Values = NDArray[np.float64]
Detector = Callable[[Values], list[int]]

NOISE = 0.01
STEPS = (0.0, 0.01, 0.03, 0.10)
LENGTHS = (100, 500, 2000)
# A change is found if it is named within so many commits of the true one, and exact if it is named itself.
TOLERANCE = 10
COMMITS_PER_CELL = 20_000
COMMITS_PER_QUICK_CELL = 2_000


@dataclasses.dataclass(frozen=True)
class History:
    values: Values
    changes: tuple[int, ...]


@dataclasses.dataclass
class Score:
    """`imagined` are changes that were named and are none."""

    histories: int = 0
    commits: int = 0
    planted: int = 0
    found: int = 0
    exact: int = 0
    imagined: int = 0
    seconds: float = 0.0

    def add(self, history: History, named: Sequence[int]) -> None:
        left = list(named)
        self.histories += 1
        self.commits += history.values.size
        self.planted += len(history.changes)
        for change in history.changes:
            near = [place for place in left if abs(place - change) <= TOLERANCE]
            if near:
                nearest = min(near, key=lambda place: abs(place - change))
                left.remove(nearest)
                self.found += 1
                self.exact += nearest == change
        self.imagined += len(left)


def plain(generator: np.random.Generator, length: int) -> Values:
    return generator.normal(0.0, NOISE, length)


def drift(generator: np.random.Generator, length: int) -> Values:
    """A machine that warms and cools: 2 % up and down in 500 commits."""
    return plain(generator, length) + 0.02 * np.sin(2 * np.pi * (np.arange(length) / 500 + generator.random()))


def correlated(generator: np.random.Generator, length: int) -> Values:
    """Each commit has half of the last one's disturbance."""
    noise = plain(generator, length)
    for place in range(1, length):
        noise[place] = 0.5 * noise[place - 1] + np.sqrt(0.75) * noise[place]
    return noise


def outliers(generator: np.random.Generator, length: int) -> Values:
    """3 % of the commits were measured beside something else: 5 to 50 % more."""
    stray = generator.random(length) < 0.03
    return plain(generator, length) + stray * generator.uniform(0.05, 0.5, length)


def heavy_tails(generator: np.random.Generator, length: int) -> Values:
    """Student's t with three degrees of freedom, scaled to the same quartiles."""
    return NOISE * 0.88 * generator.standard_t(3, length)


def wandering(generator: np.random.Generator, length: int) -> Values:
    """A level that walks at random, a tenth of the noise per commit."""
    return plain(generator, length) + np.cumsum(generator.normal(0.0, NOISE / 10, length))


def bursts(generator: np.random.Generator, length: int) -> Values:
    """A neighbour for three commits in a row, once in 100 commits: 5 to 20 % more."""
    noise = plain(generator, length)
    for start in np.flatnonzero(generator.random(length) < 0.01):
        noise[start : start + 3] += generator.uniform(0.05, 0.2)
    return noise


def noisier(generator: np.random.Generator, length: int) -> Values:
    return 2 * plain(generator, length)


# The settings of find_changes were chosen while looking at the first kinds. The others were added afterwards, and
# nothing was changed for them: they say how much of the result is that choice.
CHOSEN_ON = {"noise of 1 %": plain, "with a drift": drift, "correlated": correlated, "with outliers": outliers}
UNSEEN = {"heavy tails": heavy_tails, "wandering": wandering, "bursts of three": bursts, "noise of 2 %": noisier}
KINDS = {**CHOSEN_ON, **UNSEEN}


def history(
    kind: Callable[[np.random.Generator, int], Values], step: float, length: int, generator: np.random.Generator
) -> History:
    """Return a history with a step per 100 commits, at most four, up or down, if `step` is not zero."""
    levels = kind(generator, length)
    changes = []
    if step:
        number = min(length // 100, 4)
        for each in range(1, number + 1):
            place = each * length // (number + 1) + int(generator.integers(-8, 9))
            levels[place:] += np.log1p(step) * generator.choice([-1, 1])
            changes.append(place)
    return History(2e-6 * np.exp(levels), tuple(changes))


def ours(values: Values) -> list[int]:
    return [change.index for change in find_changes(values)]


def otava(values: Values) -> list[int]:
    from otava.analysis import compute_change_points

    # The options that Otava itself starts with. It wants a list: it searches all of an array in every window.
    changes, _ = compute_change_points(values.tolist(), window_len=50, max_pvalue=0.001, min_magnitude=0.0)
    return [int(change.index) for change in changes]


def asv(values: Values) -> list[int]:
    from asv.step_detect import detect_steps

    return [int(step[0]) for step in detect_steps(values.tolist())[1:]]


DETECTORS: dict[str, Detector] = {"photometer": ours, "otava": otava, "asv": asv}


def available() -> dict[str, Detector]:
    found = {}
    for name, detector in DETECTORS.items():
        try:
            detector(np.ones(20))
        except ImportError:
            print(f"{name} is not installed: see the docstring", file=sys.stderr)
        else:
            found[name] = detector
    return found


def score(detector: Detector, kind: str, step: float, length: int, commits: int) -> Score:
    generator = np.random.default_rng([length, round(step * 1000), *kind.encode()])
    result = Score()
    for _ in range(max(commits // length, 2)):
        made = history(KINDS[kind], step, length, generator)
        start = time.perf_counter()
        named = detector(made.values)
        result.seconds += time.perf_counter() - start
        result.add(made, named)
    return result


def cell(result: Score) -> str:
    """Return found (exactly) of planted, and what is imagined in 1,000 commits."""
    imagined = f"{result.imagined / result.commits * 1000:.2f}"
    if not result.planted:
        return imagined
    share = [f"{number / result.planted:.0%}".replace("%", " %") for number in (result.found, result.exact)]
    return f"{share[0]} ({share[1]}), {imagined}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="A tenth of the histories.")
    parser.add_argument("--unseen", action="store_true", help="Only kinds that no setting was chosen on.")
    options = parser.parse_args()
    commits = COMMITS_PER_QUICK_CELL if options.quick else COMMITS_PER_CELL
    detectors = available()
    totals = {name: Score() for name in detectors}
    print("Found (exactly), and imagined per 1,000 commits:\n")
    print(f"| history | step | commits | {' | '.join(detectors)} |")
    print(f"| --- | --- | --- |{' --- |' * len(detectors)}")
    for kind in UNSEEN if options.unseen else CHOSEN_ON:
        for step in STEPS:
            for length in LENGTHS:
                scores = {name: score(each, kind, step, length, commits) for name, each in detectors.items()}
                for name, result in scores.items():
                    for field in dataclasses.fields(Score):
                        value = getattr(totals[name], field.name) + getattr(result, field.name)
                        setattr(totals[name], field.name, value)
                words = f"{step:.0%}".replace("%", " %") if step else "none"
                cells = " | ".join(cell(result) for result in scores.values())
                print(f"| {kind} | {words} | {length:,} | {cells} |", flush=True)
    print(f"| **all** | | | {' | '.join(cell(result) for result in totals.values())} |\n")
    for name, result in totals.items():
        print(
            f"{name}: {result.planted} planted, {result.found} found, {result.planted - result.found} missed, "
            f"{result.imagined} imagined; {result.seconds / result.commits * 1e6:.0f} us per commit"
        )


if __name__ == "__main__":
    main()
