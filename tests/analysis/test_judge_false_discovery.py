from __future__ import annotations

import math

import numpy as np
import pytest

from photometer.analysis.judge import e_adjusted, log_evidence_needed
from photometer.errors import DefinitionError


def test_e_values_are_adjusted_by_rank() -> None:
    logs = np.log([1000.0, 2.0, 50.0, 0.1])
    adjusted = e_adjusted(logs)
    np.testing.assert_allclose(adjusted, [4 / 1000, min(1.0, 4 / (3 * 2)), 4 / (2 * 50), 1.0])


def test_one_strong_value_alone_needs_all_of_the_correction() -> None:
    logs = [math.log(300.0)] + [0.0] * 19
    assert e_adjusted(logs)[0] > 0.05
    assert e_adjusted([math.log(300.0)] * 10 + [0.0] * 10)[0] <= 0.05


def test_evidence_needed_falls_as_changes_stand() -> None:
    none_yet = log_evidence_needed([0.0] * 100, rate=0.05, alone=0.0025)
    some = log_evidence_needed([10.0] * 3 + [0.0] * 97, rate=0.05, alone=0.0025)
    most = log_evidence_needed([10.0] * 90 + [0.0] * 10, rate=0.05, alone=0.0025)
    assert none_yet == pytest.approx(math.log(2000.0))
    assert some == pytest.approx(math.log(500.0))
    assert most == pytest.approx(math.log(400.0))
    assert log_evidence_needed([], rate=0.05, alone=0.01) == pytest.approx(math.log(100.0))


def test_whoever_reaches_what_was_needed_stands_corrected() -> None:
    logs = [9.0, 8.5] + [0.0] * 50
    needed = log_evidence_needed(logs, rate=0.05, alone=0.5)
    logs[7] = needed + 1e-9
    assert e_adjusted(logs)[7] <= 0.05


def test_rate_of_false_discoveries_holds_in_a_suite() -> None:
    generator = np.random.default_rng(2)
    shares = []
    for _ in range(200):
        # Likelihood ratios of a normal shift: e-values exactly. Thirty true nulls, ten changes.
        values = generator.normal(0.0, 1.0, 40)
        values[:10] += 4.0
        found = e_adjusted(3.0 * values - 4.5) <= 0.1
        shares.append(np.count_nonzero(found[10:]) / max(1, int(np.count_nonzero(found))))
    assert np.mean(shares) <= 0.1


def test_nonsense_is_refused() -> None:
    with pytest.raises(DefinitionError, match="between 0 and 1"):
        log_evidence_needed([0.0], rate=5.0, alone=0.01)
