from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from photometer.report.page.figure import Axis, Scale, nice_step, padded, tick_text

CHANGE = Axis("change", "change")
SECONDS = Axis("time", "seconds")
LOG = Axis("time", "seconds", "log")


def test_the_ends_of_the_domain_are_the_ends_of_the_range() -> None:
    scale = Scale.of(SECONDS, (2.0, 4.0), 100, 300)
    assert (scale(2.0), scale(3.0), scale(4.0)) == (100, 200, 300)
    assert scale.inside(9.0) == 300
    backwards = Scale.of(LOG, (1e-6, 1e-4), 300, 100)
    assert backwards(1e-5) == pytest.approx(200)
    assert backwards.inside(1.0) == 100


@given(st.floats(1e-12, 1e6), st.integers(1, 20))
def test_steps_are_round_and_about_as_many_as_wanted(span: float, wanted: int) -> None:
    step = nice_step(span, wanted)
    digits = step / 10 ** math.floor(math.log10(step * (1 + 1e-9)))
    assert any(digits == pytest.approx(round_one) for round_one in (1, 2, 5))
    assert wanted / 1.7 <= span / step <= wanted * 1.7


@given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_ticks_lie_inside(low: float, span: float) -> None:
    scale = Scale.of(SECONDS, (low, low + span), 0, 1)
    assert all(-1e-6 <= scale(tick) <= 1 + 1e-6 for tick, _ in scale.ticks(6))


def test_a_wide_log_axis_names_powers_and_a_narrow_one_round_numbers() -> None:
    assert [tick for tick, _ in Scale.of(LOG, (1e-7, 1e-4), 0, 1).ticks(5)] == pytest.approx([1e-7, 1e-6, 1e-5, 1e-4])
    narrow = Scale.of(LOG, (0.8, 2.1), 0, 1).ticks(3)
    assert [tick for tick, _ in narrow] == pytest.approx([1.0, 1.5, 2.0])


def test_ticks_say_what_the_axis_measures() -> None:
    assert tick_text(SECONDS, 5e-6, 1e-6) == "5 µs"
    assert tick_text(SECONDS, 1.25e-6, 5e-8) == "1.25 µs"
    assert tick_text(SECONDS, 0.0, 1e-6) == "0"
    assert tick_text(LOG, 1e-7, None) == "100 ns"
    assert tick_text(CHANGE, 0.02, 0.02) == "+2 %"
    assert tick_text(CHANGE, -0.005, 0.005) == "-0.5 %"
    assert tick_text(CHANGE, 0.0, 0.02) == "0"
    assert tick_text(Axis("", "ratio"), 1.5, 0.5) == "1.5×"
    assert tick_text(Axis("", "number"), 10000, None) == "10,000"
    assert tick_text(Axis("", "number"), 1e7, None) == "10^7"


def test_the_domain_has_room_around_the_values() -> None:
    low, high = padded([1.0, 3.0], SECONDS)
    assert (low, high) == pytest.approx((0.9, 3.1))
    low, high = padded([1e-6, 1e-6], LOG)
    assert low < 1e-6 < high
    assert padded([math.inf], SECONDS) == (0.0, 1.0)
    low, high = padded([0.0001], CHANGE)
    assert low < -0.01
    assert high > 0.01
