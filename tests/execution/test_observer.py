from __future__ import annotations

import pytest

from photometer.execution.observer import TimeLeft
from photometer.execution.steps import BUILD, COUNT, TIME


def test_it_learns_what_a_step_takes() -> None:
    left = TimeLeft(cores=1)
    assert left.seconds_each(TIME) == TIME.first_guess_seconds
    left.add(TIME, 2.0)
    left.add(TIME, 4.0)
    assert left.estimate_seconds({TIME: 10}, {}) == 30.0


def test_cores_share_the_work_but_timings_come_one_after_another() -> None:
    left = TimeLeft(cores=4)
    for step in (TIME, COUNT):
        left.add(step, 1.0)
    assert left.estimate_seconds({COUNT: 40}, {}) == 10.0
    assert left.estimate_seconds({TIME: 40}, {}) == 40.0
    assert left.estimate_seconds({TIME: 40, COUNT: 40}, {}) == 40.0


def test_what_has_run_for_a_while_is_taken_off() -> None:
    left = TimeLeft(cores=2)
    whole = left.estimate_seconds({BUILD: 1}, {})
    assert left.estimate_seconds({BUILD: 1}, {BUILD: 20.0}) == whole - 20.0
    assert left.estimate_seconds({BUILD: 1}, {BUILD: 2000.0}) == 0.0


def test_what_takes_far_longer_than_expected_is_overdue() -> None:
    left = TimeLeft(cores=2)
    left.expect_build(snippets=100)
    assert not left.is_overdue(BUILD, 60.0)
    assert left.is_overdue(BUILD, 80.0)
    left.add(TIME, 0.5)
    # A second more is not worth a word, however short the step.
    assert not left.is_overdue(TIME, 2.0)
    assert left.is_overdue(TIME, 12.0)


def test_the_time_left_falls_and_is_said_anew_only_if_it_was_far_off() -> None:
    left = TimeLeft(cores=2)
    # A build of 50 s whose estimate falls by half a second per second, and then not at all.
    said = [left.falling(estimate, now) for now, estimate in ((0, 50), (10, 45), (20, 40), (30, 40))]
    assert said == [50, 40, 30, 20]
    assert left.falling(5, 31) == 5
    assert left.falling(100, 32) == 100


def test_the_start_of_a_counting_server_is_not_taken_for_the_cost_of_a_count() -> None:
    left = TimeLeft(cores=1)
    left.add(COUNT, 30.0)
    assert left.seconds_each(COUNT) <= COUNT.first_guess_seconds


def test_on_a_small_machine_nothing_goes_on_beside_a_timing() -> None:
    left = TimeLeft(cores=2, alone=True)
    for step in (TIME, COUNT, BUILD):
        left.add(step, 1.0)
    assert left.estimate_seconds({TIME: 40, COUNT: 40, BUILD: 1}, {}) == 1.0 + 40.0 + 20.0


def test_while_something_is_overdue_the_time_left_stands_still() -> None:
    left = TimeLeft(cores=2)
    said = [left.falling(200, now, is_overdue=now > 20) for now in range(0, 200, 10)]
    assert said[:3] == [200, 190, 180]
    assert set(said[3:]) == {180}
    assert left.falling(200, 200) == 170


def test_what_has_not_run_yet_is_thought_to_be_as_slow_as_the_rest() -> None:
    left = TimeLeft(cores=1)
    for _ in range(10):
        left.add(TIME, 8 * TIME.first_guess_seconds)
    assert left.seconds_each(COUNT) == pytest.approx(8 * COUNT.first_guess_seconds)
    # The start of a server is not a count's.
    left.add(COUNT, 1000.0)
    assert left.seconds_each(COUNT) == pytest.approx(8 * COUNT.first_guess_seconds)


def test_a_quick_machine_does_not_shorten_guesses() -> None:
    left = TimeLeft(cores=1)
    left.add(TIME, TIME.first_guess_seconds / 10)
    assert left.seconds_each(COUNT) == COUNT.first_guess_seconds
