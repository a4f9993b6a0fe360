from __future__ import annotations

import math

import pytest

from photometer.analysis.verdict_reason import percent, reason_for_replicates, span


@pytest.mark.parametrize(
    ("relative", "text"),
    [
        (0.0042, "0.42 %"),
        (0.081, "8.1 %"),
        (1.2, "120 %"),
        (-0.0083, "-0.83 %"),
        (0.0, "0 %"),
        (math.inf, "any amount"),
    ],
)
def test_per_cent_has_two_digits(relative: float, text: str) -> None:
    assert percent(relative) == text


def test_an_open_end_is_said_in_words() -> None:
    assert span((0.995, 1.02)) == "-0.50 % to +2.0 %"
    assert span((0.99, math.inf)) == "-1.0 % to anything"


def test_one_replicate_is_singular() -> None:
    reason = reason_for_replicates(
        "undecided", ratio=1.0, interval=(0.9, 1.1), margin=0.003, p=1.0, changed=False, count=1
    )
    assert "after 1 replicate," in reason
