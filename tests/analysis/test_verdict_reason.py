from __future__ import annotations

from photometer.analysis.verdict_reason import reason_for_replicates


def test_one_replicate_is_singular() -> None:
    reason = reason_for_replicates(
        "same", ratio=1.0, interval=(0.95, 1.05), within=0.1, p=1.0, count=1, times_to_certain=None
    )
    assert reason == "no difference above 10 %; interval -5.0 % to +5.0 % after 1 replicate."
