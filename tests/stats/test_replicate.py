from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from photometer.errors import MeasurementError
from photometer.stats.anytime_evidence import SHARED_BIAS, change_evidence
from photometer.stats.replicate import (
    estimate_replicate,
    hodges_lehmann,
    replicate_interval,
    smallest_detectable_change,
)
from tests.stats.replicate_noise import KINDS

BASE = 1.2e-6


def blocks(generator: np.random.Generator, pairs: int, change: float) -> tuple[np.ndarray, np.ndarray]:
    """One-sided noise: jitter, a contended mode half the time (in bursts, both sides), interrupts."""
    contended = np.repeat(generator.random(-(-pairs // 10)) < 0.5, 10)[:pairs]
    sides = []
    for factor in (1.0, 1.0 + change):
        slow = 1.0 + contended * generator.uniform(0.02, 0.6, pairs) + (generator.random(pairs) < 0.02) * 3.0
        sides.append(BASE * factor * slow * np.exp(generator.normal(0.0, 0.005, pairs)))
    return sides[0], sides[1]


def test_a_change_is_found_where_half_of_the_blocks_are_disturbed() -> None:
    generator = np.random.default_rng(1)
    estimates = [estimate_replicate(*blocks(generator, 250, 0.01)).log_ratio for _ in range(40)]
    assert np.mean(estimates) == pytest.approx(np.log(1.01), abs=0.0005)


def test_floors_scatter_less_than_paired_medians_under_one_sided_noise() -> None:
    generator = np.random.default_rng(2)
    found = [estimate_replicate(*blocks(generator, 250, 0.0)) for _ in range(60)]
    floor = np.std([estimate.log_ratio for estimate in found])
    typical = np.std([estimate.typical_log_ratio for estimate in found])
    assert floor < 0.8 * typical


def test_a_drifting_clock_moves_both_sides_alike() -> None:
    generator = np.random.default_rng(3)
    drift = 1.0 + np.linspace(0.0, 0.05, 250)
    found = [
        estimate_replicate(
            BASE * drift * np.exp(generator.normal(0.0, 0.003, 250)),
            BASE * 1.005 * drift * np.exp(generator.normal(0.0, 0.003, 250)),
        ).log_ratio
        for _ in range(30)
    ]
    assert np.mean(found) == pytest.approx(np.log(1.005), abs=0.0005)
    assert np.std(found) < 0.002


def test_standard_error_is_of_the_size_of_the_scatter() -> None:
    generator = np.random.default_rng(4)
    found = [estimate_replicate(*blocks(generator, 300, 0.0)) for _ in range(80)]
    scatter = np.std([estimate.log_ratio for estimate in found])
    stated = np.median([estimate.standard_error for estimate in found])
    assert 0.5 * scatter < stated < 2.0 * scatter


def test_swapping_the_sides_flips_the_sign() -> None:
    side_a, side_b = blocks(np.random.default_rng(5), 100, 0.02)
    forth, back = estimate_replicate(side_a, side_b), estimate_replicate(side_b, side_a)
    assert forth.log_ratio == pytest.approx(-back.log_ratio)
    assert forth.typical_log_ratio == pytest.approx(-back.typical_log_ratio)
    assert forth.seconds_per_run_a == pytest.approx(back.seconds_per_run_b)


def test_the_typical_pair_sees_a_change_of_some_blocks_that_the_floor_cannot() -> None:
    generator = np.random.default_rng(6)
    side_a = BASE * np.exp(generator.normal(0.0, 0.002, 200))
    side_b = BASE * np.exp(generator.normal(0.0, 0.002, 200)) * np.where(np.arange(200) % 10 < 3, 1.0, 1.1)
    estimate = estimate_replicate(side_a, side_b)
    assert abs(estimate.log_ratio) < 0.01
    assert estimate.typical_log_ratio > 0.05


@pytest.mark.parametrize(
    ("side_a", "side_b", "words"),
    [
        ([1e-6] * 10, [1e-6] * 9, "as many blocks"),
        ([1e-6] * 3, [1e-6] * 3, "too short"),
        ([1e-6] * 10, [0.0] * 10, "took no time"),
        ([1e-6] * 10, [float("nan")] * 10, "not a number"),
    ],
)
def test_unusable_blocks_are_refused(side_a: list[float], side_b: list[float], words: str) -> None:
    with pytest.raises(MeasurementError, match=words):
        estimate_replicate(side_a, side_b)


def test_hodges_lehmann_ignores_a_fifth_of_strays() -> None:
    data = np.concatenate([np.linspace(0.9, 1.1, 16), [50.0, 60.0, 70.0, 80.0]])
    assert hodges_lehmann(data) == pytest.approx(1.0, abs=0.1)
    assert hodges_lehmann([2.0]) == 2.0


def test_no_replicates_say_nothing() -> None:
    assert replicate_interval([]) == (-math.inf, math.inf)
    assert change_evidence([]).p == 1.0


def test_one_replicate_says_nothing() -> None:
    assert replicate_interval([0.001]) == (-math.inf, math.inf)


def test_few_replicates_get_an_interval_wider_than_they_lie_apart() -> None:
    low, high = replicate_interval([0.001, 0.002, 0.003, 0.004])
    assert low < 0.0005
    assert high > 0.0045


def test_a_stray_replicate_weighs_one_rank() -> None:
    data = np.random.default_rng(8).normal(0.0, 0.002, 30)
    calm = replicate_interval(data)
    data[7] = 0.5
    assert np.diff(replicate_interval(data))[0] < 1.3 * np.diff(calm)[0]


def test_interval_narrows_with_replicates_and_never_below_the_shared_bias() -> None:
    data = np.random.default_rng(3).normal(0.0, 0.001, 120)
    widths = [np.diff(replicate_interval(data[:count]))[0] for count in (4, 8, 16, 32, 120)]
    assert all(later < earlier for earlier, later in pairwise(widths))
    assert widths[-1] > 2 * SHARED_BIAS


def test_interval_moves_with_the_data_and_flips_with_the_sides() -> None:
    data = np.random.default_rng(4).normal(0.0, 0.002, 20)
    low, high = replicate_interval(data)
    shifted = replicate_interval(data + 0.01)
    assert shifted == pytest.approx((low + 0.01, high + 0.01), abs=1e-6)
    assert replicate_interval(-data) == pytest.approx((-high, -low), abs=1e-6)


def test_higher_confidence_is_wider() -> None:
    data = np.random.default_rng(5).normal(0.0, 0.002, 20)
    narrow, wide = replicate_interval(data, confidence=0.9), replicate_interval(data, confidence=0.999)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_evidence_has_a_direction_and_p_remembers_the_best_look() -> None:
    slower = change_evidence(np.full(20, 0.01))
    assert slower.log_slower > 6.0 > 0.0 > slower.log_faster
    assert slower.log_changed == pytest.approx(slower.log_slower - math.log(2.0), abs=1e-6)
    faded = change_evidence(np.concatenate([np.full(20, 0.01), np.full(20, -0.01)]))
    assert faded.log_changed < slower.log_changed
    assert faded.p <= slower.p


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_intervals_hold_the_truth_when_measuring_stops(kind: str) -> None:
    truth, margin, comparisons = 0.0008, 0.003, 120
    data = KINDS[kind](np.random.default_rng(11), (comparisons, 40)) + truth
    missed = 0
    for row in data:
        for count in range(4, 41):
            low, high = replicate_interval(row[:count])
            if -margin < low and high < margin:
                break
        missed += not low <= truth <= high
    # 5 % may miss; with 120 comparisons, 11 and more would be news (one in twenty such tests at exactly 5 %).
    assert missed <= 11


LOG_NEEDED = math.log(400.0)


def replicates(spread: float, count: int = 20) -> np.ndarray:
    return np.random.default_rng(1).normal(0.0, spread, count)


def test_more_noise_hides_more() -> None:
    found = [smallest_detectable_change(replicates(spread), log_needed=LOG_NEEDED) for spread in (0.001, 0.003, 0.01)]
    assert found[0] < found[1] < found[2] < math.inf


def test_more_time_shows_more() -> None:
    found = [
        smallest_detectable_change(replicates(0.003), log_needed=LOG_NEEDED, time_factor=factor)
        for factor in (1.0, 2.0, 4.0)
    ]
    assert found[0] > found[1] > found[2] > 0.0


def test_a_change_of_that_size_is_called_about_four_times_in_five() -> None:
    generator = np.random.default_rng(2)
    # The figure is only as good as the scatter of its replicates is known: the mean of several samples is what counts.
    samples = generator.normal(0.0, 0.003, (10, 24))
    change = np.mean([smallest_detectable_change(sample, log_needed=LOG_NEEDED) for sample in samples])
    noise = generator.normal(0.0, 0.003, (150, 24))
    called = np.mean([change_evidence(row + change).log_changed >= LOG_NEEDED for row in noise])
    assert 0.55 <= called <= 0.97


def test_the_change_itself_does_not_count_as_noise() -> None:
    still = smallest_detectable_change(replicates(0.003), log_needed=LOG_NEEDED)
    moved = smallest_detectable_change(replicates(0.003) + 0.05, log_needed=LOG_NEEDED)
    assert moved == pytest.approx(still)


def test_too_few_replicates_promise_nothing() -> None:
    assert smallest_detectable_change([0.001, 0.001, 0.001], log_needed=LOG_NEEDED) == math.inf


def test_it_is_the_same_each_time() -> None:
    data = replicates(0.002)
    once, again = (smallest_detectable_change(data, log_needed=LOG_NEEDED) for _ in range(2))
    assert once == again
