from __future__ import annotations

import numpy as np
import pytest

from photometer.errors import MeasurementError
from photometer.stats.unpaired import PAIR_BIAS_FROZEN_LAYOUT, PAIR_BIAS_RANDOM_LAYOUT, SESSION_DRIFT, estimate_unpaired

BASE = 1.2e-6


def test_single_processes_leave_wide_doubt() -> None:
    estimate = estimate_unpaired([BASE], [BASE * 1.05])
    low, high = estimate.interval
    assert low < 0.0 < estimate.log_ratio < high
    assert high - estimate.log_ratio > 2 * PAIR_BIAS_RANDOM_LAYOUT


def test_frozen_layouts_and_more_processes_narrow_it() -> None:
    def width(**options: object) -> float:
        count = int(options.pop("processes", 1))  # type: ignore[call-overload]
        low, high = estimate_unpaired([BASE] * count, [BASE] * count, **options).interval  # type: ignore[arg-type]
        return high - low

    assert width(frozen_layout=True) < width()
    assert width(processes=9) < width(processes=2) < width()
    assert width(relative_error_a=0.05) > width()


@pytest.mark.parametrize(("frozen", "bias"), [(False, PAIR_BIAS_RANDOM_LAYOUT), (True, PAIR_BIAS_FROZEN_LAYOUT)])
@pytest.mark.parametrize("processes", [1, 5])
def test_intervals_hold_the_truth(frozen: bool, bias: float, processes: int) -> None:
    generator = np.random.default_rng(1)
    trials, missed = 400, 0
    for _ in range(trials):
        drift = generator.normal(0.0, SESSION_DRIFT)
        side_a = BASE * np.exp(generator.normal(0.0, bias / np.sqrt(2.0), processes))
        side_b = BASE * 1.02 * np.exp(generator.normal(drift, bias / np.sqrt(2.0), processes))
        low, high = estimate_unpaired(list(side_a), list(side_b), frozen_layout=frozen).interval
        missed += not low <= np.log(1.02) <= high
    assert missed <= 0.05 * trials


def test_detectable_change_grows_with_the_certainty_asked_for() -> None:
    estimate = estimate_unpaired([BASE], [BASE])
    assert estimate.detectable(0.001) > estimate.detectable(0.05) > PAIR_BIAS_RANDOM_LAYOUT


@pytest.mark.parametrize("side", [[], [0.0], [float("nan")]])
def test_a_side_without_times_is_refused(side: list[float]) -> None:
    with pytest.raises(MeasurementError, match="at least one positive time"):
        estimate_unpaired([BASE], side)
