from __future__ import annotations

import numpy as np
import pytest

from photometer.errors import MeasurementError
from photometer.stats.replicate import estimate_replicate

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
