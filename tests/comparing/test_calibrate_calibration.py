from __future__ import annotations

import numpy as np
import pytest

from photometer.comparing.calibrate import false_alarm_rate, reference_scale_for
from photometer.errors import DefinitionError
from photometer.stats.anytime_evidence import REFERENCE_SCALE, log_reference_evidence


def test_no_alarm_still_leaves_room() -> None:
    rate = false_alarm_rate(0, 300)
    assert rate.rate == 0.0
    assert rate.interval == pytest.approx((0.0, 1.0 - 0.025 ** (1 / 300)))


def test_interval_holds_the_rate() -> None:
    rate = false_alarm_rate(3, 300)
    assert rate.interval[0] < 0.01 < rate.interval[1]
    assert false_alarm_rate(5, 5).interval[1] == 1.0


@pytest.mark.parametrize(("alarms", "comparisons"), [(1, 0), (0, 0), (-1, 5), (6, 5)])
def test_impossible_counts_are_refused(alarms: int, comparisons: int) -> None:
    with pytest.raises(DefinitionError, match="give no rate"):
        false_alarm_rate(alarms, comparisons)


def test_a_calm_machine_keeps_the_built_in_scale() -> None:
    calm = np.random.default_rng(1).normal(0.0, 0.003, 200)
    assert reference_scale_for(calm) == REFERENCE_SCALE
    assert reference_scale_for([]) == REFERENCE_SCALE


def test_a_wild_machine_gets_a_scale_under_which_its_noise_is_no_evidence() -> None:
    generator = np.random.default_rng(2)
    wild = generator.standard_t(2.0, 400) * 0.03
    scale = reference_scale_for(wild)
    assert scale > 0.025
    fresh = generator.standard_t(2.0, (1000, 20)) * 0.03
    with_it = log_reference_evidence(fresh, reference_scale=scale).max(axis=1)
    without = log_reference_evidence(fresh).max(axis=1)
    assert np.mean(with_it >= np.log(20.0)) <= 0.05 < np.mean(without >= np.log(20.0))
