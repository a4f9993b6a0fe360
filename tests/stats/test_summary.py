from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from photometer.stats.summary import mean, median, median_absolute_deviation, quantile, standard_deviation

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
