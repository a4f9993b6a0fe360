"""Rules say when it is enough, and refuse what makes no sense."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from photometer.errors import DefinitionError
from photometer.instruments.stopping import Precise, RunFor, SpreadBelow


def test_run_for() -> None:
    assert RunFor(1.0).reason_to_stop([0.1], 0.9) is None
    assert RunFor(1.0).reason_to_stop([0.1], 1.0) is not None


def test_spread_needs_samples_and_time() -> None:
    rule = SpreadBelow(0.1, min_run_time=1.0, max_run_time=5.0)
    assert rule.reason_to_stop([1.0] * 3, 2.0) is None
    assert rule.reason_to_stop([1.0] * 4, 0.5) is None
    assert rule.reason_to_stop([1.0] * 4, 2.0) is not None
    assert rule.reason_to_stop([1.0, 2.0, 3.0, 4.0], 2.0) is None
    assert rule.reason_to_stop([1.0, 2.0, 3.0, 4.0], 5.1) is not None


def test_precision_looks_at_the_interval_not_the_spread() -> None:
    wide = [0.5, 1.5] * 20_000
    narrow_interval = [0.9, 1.0, 1.1] * 20_000
    rule = Precise(0.05, 0.0, 1e9)
    assert rule.reason_to_stop(wide, 1.0) is None
    assert rule.reason_to_stop(narrow_interval, 1.0) is not None


def test_precision_is_reached_on_a_machine_that_changes_between_states() -> None:
    # Slow for three tenths of the time. (Of two states that share it equally, either may be the next median.)
    states = [1.0 + 0.1 * (block // 200 % 10 < 3) + 0.001 * (block % 7) for block in range(40_000)]
    rule = Precise(0.025, 0.0, 1e9)
    assert rule.reason_to_stop(states[:2000], 1.0) is None
    assert rule.reason_to_stop(states, 20.0) is not None


@pytest.mark.parametrize(
    "make", [lambda: RunFor(-1), lambda: SpreadBelow(0, 0, 1), lambda: Precise(-0.1, 0, 1), lambda: Precise(0.1, 0, 0)]
)
def test_nonsense_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(DefinitionError, match="must be positive"):
        make()


def test_looks_get_rarer() -> None:
    rule = Precise(0.01, 0, 1)
    looks, samples = 0, 1
    while samples < 100_000:
        samples = rule.next_look(samples)
        looks += 1
    assert looks < 120
