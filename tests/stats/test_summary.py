from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st

from photometer.stats.summary import (
    batch_half_width,
    mean,
    median,
    median_absolute_deviation,
    median_interval,
    order_statistic_interval,
    quantile,
    standard_deviation,
)

numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50)


@given(numbers, st.floats(0, 1))
def test_quantile_is_numpys(values: list[float], q: float) -> None:
    assert quantile(sorted(values), q) == pytest.approx(np.quantile(values, q), rel=1e-9, abs=1e-6)


@given(numbers)
def test_median_mean_and_deviation_are_numpys(values: list[float]) -> None:
    assert median(values) == pytest.approx(np.median(values), rel=1e-9, abs=1e-6)
    assert mean(values) == pytest.approx(np.mean(values), rel=1e-9, abs=1e-6)
    if len(values) > 1:
        assert standard_deviation(values) == pytest.approx(np.std(values, ddof=1), rel=1e-6, abs=1e-6)


def test_deviation_of_one_number_is_zero() -> None:
    assert standard_deviation([3.0]) == 0


def test_robust_deviation_estimates_the_normal_one_and_ignores_outliers() -> None:
    values = np.random.default_rng(0).normal(10, 2, 4001).tolist()
    assert median_absolute_deviation(values) == pytest.approx(2, rel=0.06)
    assert median_absolute_deviation([*values, 1e9]) == pytest.approx(2, rel=0.06)


def test_quantile_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="no numbers"):
        quantile([], 0.5)
    with pytest.raises(ValueError, match="no numbers"):
        median([])


Draw = Callable[[np.random.Generator, int], np.ndarray]


def normal(source: np.random.Generator, count: int) -> np.ndarray:
    return source.normal(10, 1, count) - 10


def skewed(source: np.random.Generator, count: int) -> np.ndarray:
    return source.exponential(1, count) - math.log(2)


def wandering(source: np.random.Generator, count: int) -> np.ndarray:
    """Neighbours share their noise: an autoregressive series, with a correlation of 0.7 per step."""
    steps = source.normal(0, 1, count + 50)
    values = np.zeros(count + 50)
    for i in range(1, len(values)):
        values[i] = 0.7 * values[i - 1] + steps[i]
    return values[50:]


def coverage(draw: Draw, count: int, confidence: float = 0.95, trials: int = 600) -> float:
    source = np.random.default_rng(1)
    held = 0
    for _ in range(trials):
        low, high = median_interval(draw(source, count).tolist(), confidence)
        held += low <= 0 <= high
    return held / trials


@pytest.mark.parametrize("draw", [normal, skewed])
@pytest.mark.parametrize("count", [3, 5, 6, 9, 20, 100])
def test_covers_independent_samples(draw: Draw, count: int) -> None:
    assert coverage(draw, count) >= 0.93


@pytest.mark.parametrize("count", [100, 300])
def test_covers_correlated_samples_where_order_statistics_do_not(count: int) -> None:
    source = np.random.default_rng(1)
    naive = 0
    for _ in range(300):
        low, high = order_statistic_interval(wandering(source, count).tolist())
        naive += low <= 0 <= high
    assert naive / 300 < 0.75
    assert coverage(wandering, count, trials=300) >= 0.88


def test_other_confidences() -> None:
    # Independent samples are the easy case: the allowance for slow noise makes their intervals too careful.
    assert coverage(normal, 40, 0.5, 400) < coverage(normal, 40, 0.99, 400)
    assert coverage(normal, 40, 0.99, 400) >= 0.97


def test_narrows_with_the_number_of_samples() -> None:
    source = np.random.default_rng(2)
    widths = []
    for count in (20, 200, 2000):
        low, high = median_interval(normal(source, count).tolist())
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)
    assert widths[0] / widths[-1] > 4


def test_one_value_says_nothing_and_equal_values_say_all() -> None:
    assert median_interval([1.0]) == (-math.inf, math.inf)
    assert median_interval([1.0] * 50) == (1.0, 1.0)


def test_states_that_take_turns_are_seen_whatever_share_of_a_run_each_has_got() -> None:
    """Two states of the machine; by chance a short measurement meets one three times as long as the other."""
    source = np.random.default_rng(3)
    held = naive = 0
    for _ in range(200):
        slow_share = source.choice([0.25, 0.75])
        values = np.where(source.random(200) < slow_share, 1.1, 1.0) + source.normal(0, 1e-3, 200)
        low, high = median_interval(values.tolist())
        held += low <= 1.05 <= high
        low, high = order_statistic_interval(values.tolist())
        naive += low <= 1.05 <= high
    assert naive == 0
    assert held == 200


def test_batches_see_a_drift_that_order_statistics_miss() -> None:
    values = [1 + i / 1000 for i in range(1000)]
    low, high = order_statistic_interval(values)
    assert batch_half_width(values, 10) > (high - low)


def test_narrows_with_the_time_measured_once_that_is_long_beside_the_states_of_the_machine() -> None:
    source = np.random.default_rng(4)
    values = np.where(np.arange(2000) // 50 % 2, 1.1, 1.0) + source.normal(0, 1e-3, 2000)
    widths = []
    for seconds in (None, 1.0, 4.0, 16.0):
        low, high = median_interval(values.tolist(), seconds=seconds)
        widths.append(high - low)
    assert widths[0] == widths[1] > widths[2] > widths[3]
