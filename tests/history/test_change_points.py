"""Steps in made-up histories: found at their place with their size, and nothing found in noise, drifts or outliers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from photometer.errors import ToolMissing
from photometer.history.change_points import SHORTEST_LEVEL, ChangePoint, find_changes

NOISE = 0.01


def history(
    length: int, steps: dict[int, float] | None = None, *, seed: int = 0, noise: float = NOISE
) -> NDArray[np.float64]:
    """Seconds at `length` commits, with relative steps at some of them."""
    generator = np.random.default_rng(seed)
    levels = generator.normal(math.log(2e-6), noise, length)
    for place, change in (steps or {}).items():
        levels[place:] += math.log1p(change)
    return np.exp(levels)


@pytest.mark.parametrize("change", [0.03, 0.10, -0.03, -0.10, 1.0])
@pytest.mark.parametrize("length", [100, 1000])
def test_a_step_is_found_with_its_place_and_size(length: int, change: float) -> None:
    (found,) = find_changes(history(length, {length // 2: change}))
    assert abs(found.index - length // 2) <= 2
    assert found.relative_change == pytest.approx(change, abs=0.01)
    assert found.after / found.before == pytest.approx(1 + change, abs=0.01)
    assert 0 <= found.p < 1e-6


def test_two_steps_back_and_forth_are_two_changes() -> None:
    up, down = find_changes(history(300, {100: 0.05, 200: -0.05}))
    assert (up.index, down.index) == (100, 200)
    assert up.relative_change > 0 > down.relative_change


def test_most_steps_of_one_per_cent_are_found_among_noise_of_one_per_cent() -> None:
    found = sum(bool(find_changes(history(400, {200: 0.01}, seed=seed))) for seed in range(20))
    assert found >= 14


def test_noise_alone_has_no_changes() -> None:
    assert [find_changes(history(500, seed=seed)) for seed in range(30)] == [()] * 30


def test_correlated_noise_has_hardly_any() -> None:
    found = 0
    for seed in range(20):
        independent = np.random.default_rng(seed).normal(0.0, NOISE, 500)
        levels = np.zeros(500)
        for i in range(1, 500):
            levels[i] = 0.5 * levels[i - 1] + independent[i]
        found += len(find_changes(np.exp(levels)))
    assert found <= 5


def test_a_slow_drift_is_no_step_and_hides_none() -> None:
    drift = 1 + 0.02 * np.sin(np.arange(500) / 500 * 2 * np.pi)
    assert sum(len(find_changes(history(500, seed=seed) * drift)) for seed in range(10)) <= 3
    found = find_changes(history(500, {250: 0.05}) * drift)
    step = min(found, key=lambda change: abs(change.index - 250))
    assert abs(step.index - 250) <= 2
    assert step.relative_change == pytest.approx(0.05, abs=0.015), "the drift is not part of the step"


def test_outliers_are_no_changes_and_hide_none() -> None:
    generator = np.random.default_rng(3)
    strays = np.where(generator.random(500) < 0.03, generator.uniform(1.1, 3.0, 500), 1.0)
    assert find_changes(history(500) * strays) == ()
    (found,) = find_changes(history(500, {250: 0.05}) * strays)
    assert abs(found.index - 250) <= 3
    assert found.relative_change == pytest.approx(0.05, abs=0.01)


def test_a_new_level_is_believed_after_a_few_commits() -> None:
    before = history(100)
    assert find_changes([*before, 3e-6]) == ()
    after = history(SHORTEST_LEVEL + 1, seed=1) * 1.2
    (found,) = find_changes([*before, *after])
    assert found.index == 100


def test_a_short_history_has_clear_steps_too() -> None:
    for length in range(2 * SHORTEST_LEVEL, 2 * SHORTEST_LEVEL + 4):
        (found,) = find_changes(history(length, {SHORTEST_LEVEL: 0.4}))
        assert found.index == SHORTEST_LEVEL


def test_an_exact_history_steps_without_noise() -> None:
    (found,) = find_changes([1024.0] * 10 + [1100.0] * 10)
    assert isinstance(found, ChangePoint)
    assert found.index == 10
    assert [found.before, found.after] == pytest.approx([1024, 1100])
    assert found.relative_change == pytest.approx(1100 / 1024 - 1)
    assert find_changes([7.0] * 50) == ()


def test_values_may_be_missing_negative_or_zero() -> None:
    values = [*history(40), math.nan, math.inf, *(history(40, seed=1) * 1.5)]
    (found,) = find_changes(values)
    assert found.index == 42, "the place counts the missing ones, too"
    noise = np.random.default_rng(0).normal(0.0, 0.1, 60)
    (found,) = find_changes(np.concatenate([noise[:30] - 5, noise[30:] + 5]))
    assert found.index == 30
    assert find_changes([0.0] * 40) == ()
    (found,) = find_changes([0.0] * 20 + [3.0] * 20)
    assert found.after == pytest.approx(3.0)


def test_smaller_changes_and_smaller_certainty_can_be_asked_for() -> None:
    values = history(400, {200: 0.004}, noise=0.001)
    assert find_changes(values) == ()
    (found,) = find_changes(values, smallest_change=0.001)
    assert found.relative_change == pytest.approx(0.004, abs=0.001)
    weak = history(100, {50: 0.03})
    assert find_changes(weak, largest_p=1e-40) == ()


@pytest.mark.parametrize("length", range(2 * SHORTEST_LEVEL + 2))
def test_short_histories_have_no_error(length: int) -> None:
    assert len(find_changes(history(length))) == 0


def test_without_ruptures_the_remedy_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ruptures", None)
    with pytest.raises(ToolMissing, match=r"photometer\[history\]"):
        find_changes(history(100))
