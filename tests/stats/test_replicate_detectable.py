from __future__ import annotations

import math

import numpy as np
import pytest

from photometer.stats.anytime_evidence import change_evidence
from photometer.stats.replicate import smallest_detectable_change

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
