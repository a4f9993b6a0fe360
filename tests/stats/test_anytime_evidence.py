from __future__ import annotations

import numpy as np
import pytest

from photometer.stats.anytime_evidence import (
    BUMP_KEPT,
    REFERENCE_SCALE,
    log_bump_evidence,
    log_coin_evidence,
    log_evidence_above,
    log_reference_evidence,
    log_student_evidence,
)
from tests.stats.replicate_noise import KINDS


def test_evidence_is_cumulative_and_keeps_the_shape() -> None:
    excess = np.random.default_rng(1).normal(0.0, 0.003, (3, 8))
    whole = log_evidence_above(excess)
    assert whole.shape == (3, 8)
    np.testing.assert_allclose(whole[:, 4], log_evidence_above(excess[:, :5])[:, -1])


@pytest.mark.parametrize("size", [1e-5, 0.0004, 0.003, 0.02, 0.3])
def test_coin_bets_are_fair_at_every_size(size: float) -> None:
    up, down = np.exp(log_coin_evidence(np.array([[size], [-size]])))[:, 0]
    assert (up + down) / 2.0 == pytest.approx(1.0)
    assert up > 1.0


@pytest.mark.parametrize("radius", np.geomspace(1e-4, 0.5, 12))
def test_bump_bets_lose_against_every_uniform(radius: float) -> None:
    grid = np.linspace(-radius, radius, 20001)[:, np.newaxis]
    assert np.exp(log_bump_evidence(grid)).mean() <= 1.0


def test_agreement_on_one_value_is_worth_more_than_coins() -> None:
    agreeing = np.random.default_rng(2).normal(0.008, 0.0005, 9)
    assert log_bump_evidence(agreeing)[-1] > 9 * np.log(2.0) > log_coin_evidence(agreeing)[-1]


def test_a_bump_bet_keeps_part_of_its_stake() -> None:
    assert np.exp(log_bump_evidence(np.array([-0.5])))[0] == pytest.approx(BUMP_KEPT, rel=1e-3)


def test_reference_bets_are_fair_under_the_reference() -> None:
    # Quantiles of Student's distribution with two degrees of freedom, in closed form. The bets' payouts grow without
    # bound towards u = 0, so the midpoints must reach far into the tail to see all of the mean.
    edges = np.concatenate([[0.0], np.geomspace(1e-14, 1.0, 200_001)])
    u = (edges[1:] + edges[:-1]) / 2.0
    value = REFERENCE_SCALE * (1.0 - 2.0 * u) * np.sqrt(2.0 / (4.0 * u * (1.0 - u)))
    mean = float(np.sum(np.exp(log_reference_evidence(value[:, np.newaxis]))[:, 0] * np.diff(edges)))
    assert mean == pytest.approx(1.0, abs=0.03)
    assert np.all(np.diff(np.exp(log_reference_evidence(np.sort(value)[:, np.newaxis]))[:, 0]) >= 0.0)


def test_student_bets_follow_the_t_statistic() -> None:
    data = np.random.default_rng(3).normal(0.006, 0.004, 12)
    count, mean = 12, data.mean()
    strength = count * mean**2 / np.sum((data - mean) ** 2)
    expected = [
        np.sqrt(g / (count + g)) * ((1 + strength) / (1 + g / (count + g) * strength)) ** (count / 2)
        for g in (1.0, 0.1)
    ]
    assert log_student_evidence(data)[-1] == pytest.approx(np.log(np.mean(expected)))
    assert log_student_evidence(-data)[-1] == -np.inf
    assert log_student_evidence(data)[0] == 0.0


def test_student_bets_hold_their_rate_on_normal_noise_and_on_both_sides_of_the_point() -> None:
    generator = np.random.default_rng(4)
    for mean in (0.0, -0.002):
        highest = log_student_evidence(generator.normal(mean, 0.003, (2000, 40))).max(axis=1)
        assert np.count_nonzero(highest >= np.log(20.0)) <= 2000 / 20


def test_identical_replicates_are_not_infinite_evidence() -> None:
    assert log_student_evidence(np.full(3, 0.002))[-1] < np.log(20.0)
    assert np.isfinite(log_evidence_above(np.full(50, 0.1))).all()


def test_signs_alone_cannot_convict_before_nine_replicates() -> None:
    assert log_coin_evidence(np.full(8, 0.01))[-1] < np.log(400.0)


def test_a_gross_change_is_plain_after_four_replicates() -> None:
    assert log_evidence_above(np.full(4, 0.08))[-1] > np.log(800.0)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_identical_sides_seldom_gather_evidence_however_often_one_looks(kind: str) -> None:
    comparisons = 600
    noise = KINDS[kind](np.random.default_rng(7), (comparisons, 40))
    # 0.05 %: the bias that servers may share.
    highest = log_evidence_above(noise - 0.0005).max(axis=1)
    # One in 20 is allowed at evidence 20; five standard deviations of the count on top would fail.
    assert np.count_nonzero(highest >= np.log(20.0)) <= comparisons / 20.0


def test_a_stray_replicate_neither_convicts_nor_acquits() -> None:
    steady = np.full(15, 0.004)
    with_stray = np.append(steady, -0.03)
    assert log_evidence_above(with_stray)[-1] > log_evidence_above(steady)[-1] - 1.5
    calm = np.append(np.tile([0.001, -0.001], 8), 0.03)
    assert log_evidence_above(calm)[-1] < 0.0
