from __future__ import annotations

import math
import random

import pytest

from photometer.model.device_measurement import DeviceMode, ModeName
from photometer.stats.undisturbed import low_quantile, low_quantile_interval


def disturbed(seed: int, busy: float, number: int = 200) -> list[float]:
    """8 us, and for a share of the blocks several times that."""
    chance = random.Random(seed)
    return [
        8e-6 * (1.0 + 0.02 * chance.random() + (4.0 * chance.random() if chance.random() < busy else 0.0))
        for _ in range(number)
    ]


@pytest.mark.parametrize("busy", [0.0, 0.5, 0.8])
def test_a_busy_machine_does_not_move_it(busy: float) -> None:
    samples = disturbed(1, busy)
    assert low_quantile(samples) == pytest.approx(8.05e-6, rel=0.02)
    low, high = low_quantile_interval(samples)
    assert 0 < low <= low_quantile(samples) <= high


def test_few_samples_have_all_that_was_seen_as_interval() -> None:
    assert low_quantile_interval([3.0, 1.0, 2.0]) == (1.0, 3.0)


def test_the_hosts_mode_has_it_and_no_interval_is_negative() -> None:
    samples = tuple(disturbed(2, 0.6))
    host, hot = (DeviceMode(name, samples, 10) for name in (ModeName.HOST, ModeName.DEVICE_HOT))
    assert host.seconds == low_quantile(samples) < hot.seconds == hot.median
    assert host.interval_seconds[0] > 0
    wild = DeviceMode(ModeName.END_TO_END, tuple(chance for chance in (1e-6, 1e-5, 9e-5, 1e-6, 8e-5, 1e-6, 9e-5, 1e-6)))
    assert wild.interval_seconds[0] >= 0.0
    assert DeviceMode(ModeName.DEVICE_HOT, (1e-6,)).interval_seconds == (-math.inf, math.inf)
