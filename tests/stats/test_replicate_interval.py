from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from photometer.stats.anytime_evidence import SHARED_BIAS, change_evidence
from photometer.stats.replicate_interval import hodges_lehmann, replicate_interval
from tests.stats.replicate_noise import KINDS


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
