"""The undisturbed time repeats where a median does not, and its interval holds what another run gives."""

from __future__ import annotations

import math
import random
import statistics

import numpy as np
import pytest

from photometer.model.device_measurement import DeviceMode, ModeName
from photometer.stats.undisturbed import (
    low_quantile,
    low_quantile_interval,
    undisturbed,
    undisturbed_interval,
    visit_levels,
)

TRUE = 1e-6


def run_of_visits(source: np.random.Generator, visits: int = 8, busy: float = 0.4) -> list[list[float]]:
    """A statement on a machine that is in a slow state in some of the visits; each layout is worth a little, too."""
    taken = []
    for _ in range(visits):
        layout = 1 + abs(source.normal(0, 0.004))
        slow = 1 + (source.uniform(0.05, 0.5) if source.random() < busy else 0.0)
        taken.append((TRUE * layout * slow * (1 + source.exponential(0.02, 40))).tolist())
    return taken


def interval_of(visits: list[list[float]]) -> tuple[float, float]:
    return undisturbed_interval(visit_levels(visits), min(map(min, visits)))


def test_two_runs_agree_where_their_medians_do_not() -> None:
    source = np.random.default_rng(1)
    figures, medians = [], []
    for _ in range(200):
        pair = [run_of_visits(source) for _ in range(2)]
        figures.append(abs(math.log(undisturbed(visit_levels(pair[0])) / undisturbed(visit_levels(pair[1])))))
        middles = [statistics.median(block for visit in run for block in visit) for run in pair]
        medians.append(abs(math.log(middles[0] / middles[1])))
    assert np.mean(np.array(figures) < 0.02) > 0.95
    assert np.mean(np.array(medians) < 0.02) < 0.8


def test_the_interval_holds_the_figure_of_another_run() -> None:
    source = np.random.default_rng(2)
    held = []
    for _ in range(400):
        low, high = interval_of(run_of_visits(source))
        held.append(low <= undisturbed(visit_levels(run_of_visits(source))) <= high)
    assert np.mean(held) > 0.9


def test_the_interval_is_positive_and_not_below_the_fastest_block() -> None:
    source = np.random.default_rng(3)
    for _ in range(100):
        visits = run_of_visits(source, visits=int(source.integers(2, 12)), busy=0.9)
        low, high = interval_of(visits)
        assert 0 < min(map(min, visits)) <= low <= undisturbed(visit_levels(visits)) <= high


def test_the_interval_shrinks_as_visits_are_added() -> None:
    source = np.random.default_rng(4)
    widths = []
    for visits in (3, 8, 24):
        ends = [interval_of(run_of_visits(source, visits)) for _ in range(100)]
        widths.append(float(np.mean([high - low for low, high in ends])))
    assert widths == sorted(widths, reverse=True)


def test_one_visit_has_no_upper_end() -> None:
    assert undisturbed_interval([2.0], 1.9) == (1.9, math.inf)


@pytest.mark.parametrize("confidence", [0.5, 0.99])
def test_another_confidence_is_another_width(confidence: float) -> None:
    levels = [1.0, 1.01, 1.02, 1.1]
    usual, other = undisturbed_interval(levels, 0.99), undisturbed_interval(levels, 0.99, confidence)
    assert (other[1] > usual[1]) == (confidence > 0.95)


def disturbed(seed: int, busy: float, number: int = 200) -> list[float]:
    """8 us, and for a share of the blocks several times that."""
    chance = random.Random(seed)
    return [
        8e-6 * (1.0 + 0.02 * chance.random() + (4.0 * chance.random() if chance.random() < busy else 0.0))
        for _ in range(number)
    ]


@pytest.mark.parametrize("busy", [0.0, 0.5, 0.8])
def test_a_busy_machine_does_not_move_it(busy: float) -> None:
    samples = disturbed(1, busy)
    assert low_quantile(samples) == pytest.approx(8.05e-6, rel=0.02)
    low, high = low_quantile_interval(samples)
    assert 0 < low <= low_quantile(samples) <= high


def test_few_samples_have_all_that_was_seen_as_interval() -> None:
    assert low_quantile_interval([3.0, 1.0, 2.0]) == (1.0, 3.0)


def test_the_hosts_mode_has_it_and_no_interval_is_negative() -> None:
    samples = tuple(disturbed(2, 0.6))
    host, hot = (DeviceMode(name, samples, 10) for name in (ModeName.HOST, ModeName.DEVICE_HOT))
    assert host.seconds == low_quantile(samples) < hot.seconds == hot.median
    assert host.interval_seconds[0] > 0
    wild = DeviceMode(ModeName.END_TO_END, tuple(chance for chance in (1e-6, 1e-5, 9e-5, 1e-6, 8e-5, 1e-6, 9e-5, 1e-6)))
    assert wild.interval_seconds[0] >= 0.0
    assert DeviceMode(ModeName.DEVICE_HOT, (1e-6,)).interval_seconds == (-math.inf, math.inf)


@pytest.mark.parametrize("visits", [5, 8, 12])
@pytest.mark.parametrize("rare", [0.7, 1.5], ids=["faster", "slower"])
def test_a_visit_in_a_rare_state_does_not_become_the_figure(visits: int, rare: float) -> None:
    """One visit at a higher clock, or beside a neighbour; the mean of the lowest two was off by 15 %."""
    levels = sorted([TRUE * rare, *(TRUE * (1 + 0.001 * place) for place in range(visits - 1))])
    assert undisturbed(levels) == pytest.approx(TRUE, rel=0.01)
