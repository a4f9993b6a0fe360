from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from photometer.analysis.verdict import DetectableChange, Verdict, reason_for_replicates
from photometer.errors import ResultsFileError
from photometer.model.records import from_record, to_record

VERDICT = Verdict(
    verdict="slower",
    ratio=1.01,
    interval=(1.005, 1.015),
    difference_seconds=12e-9,
    difference_interval_seconds=(6e-9, 18e-9),
    base_seconds=1.2e-6,
    p=1e-4,
    log_evidence=9.2,
    replicates=14,
    margin=0.003,
    confidence=0.95,
    false_alarm=0.0025,
    paired=True,
    detectable=DetectableChange(0.005, 0.004, 0.003),
    reason="slower by 1.0 %",
    notes=("one", "two"),
)


def through_json(verdict: Verdict) -> Verdict:
    return from_record(Verdict, json.loads(json.dumps(to_record(verdict), allow_nan=False)))


def test_json_and_back() -> None:
    assert through_json(VERDICT) == VERDICT


def test_infinite_ends_survive_json_that_has_no_infinity() -> None:
    early = replace(
        VERDICT,
        verdict="undecided",
        interval=(0.0, math.inf),
        difference_interval_seconds=(-math.inf, math.inf),
        detectable=DetectableChange(math.inf, math.inf, 0.1),
    )
    assert through_json(early) == early
    assert not early.decided
    assert through_json(replace(VERDICT, detectable=None)).detectable is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"verdict": "worse"}, "worse"),
        ({"ratio": "fast"}, "fast"),
        ({"interval": [1.0]}, "interval"),
        ({"detectable": {"now": 0.1}}, "twice_the_time"),
    ],
)
def test_a_damaged_verdict_is_refused_by_name(change: dict[str, object], words: str) -> None:
    with pytest.raises(ResultsFileError, match=words):
        from_record(Verdict, {**to_record(VERDICT), **change})


def test_a_missing_field_is_named() -> None:
    data = to_record(VERDICT)
    del data["log_evidence"]
    with pytest.raises(ResultsFileError, match="log_evidence"):
        from_record(Verdict, data)


def test_printing_takes_two_lines_and_repr_one() -> None:
    printed = str(replace(VERDICT, measured_by="device time,\nby events")).split("\n")
    assert printed == [
        "slower: +1.0 %, from 1.200 µs to 1.212 µs per run",
        "slower by 1.0 %; device time, by events; one; two.",
    ]
    assert repr(VERDICT) == "<photometer.Verdict slower: +1.0 % (+0.50 % to +1.5 %), 14 replicates>"
    early = replace(VERDICT, verdict="undecided", ratio=1.0, interval=(0.0, math.inf), replicates=1)
    assert repr(early) == "<photometer.Verdict undecided: 0 % (anything to anything), 1 replicate>"
    assert len(str(early).split("\n")) == 2


def test_one_replicate_is_singular() -> None:
    reason = reason_for_replicates(
        "same", ratio=1.0, interval=(0.95, 1.05), within=0.1, p=1.0, count=1, times_to_certain=None
    )
    assert reason == "no difference above 10 %; interval -5.0 % to +5.0 % after 1 replicate."
