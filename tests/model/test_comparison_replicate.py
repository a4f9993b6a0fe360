"""Replicates as a file keeps them: the same numbers out as in, and damage is named."""

from __future__ import annotations

import json

import pytest

from photometer.errors import ResultsFileError
from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.model.records import from_record, to_record

REPLICATE = ComparisonReplicate.from_seconds(
    "id", 400, [1.25e-6, 1.5e-6], [1e-6, 0.0], measuring_seconds=0.2, whole_seconds=0.25, layout=2
)


def test_blocks_are_whole_nanoseconds() -> None:
    assert REPLICATE.base_block_nanoseconds == (500_000, 600_000)
    # No block took no time: it would be divided by.
    assert REPLICATE.branch_block_nanoseconds == (400_000, 1)
    assert REPLICATE.base_seconds_per_run == pytest.approx((1.25e-6, 1.5e-6))
    assert REPLICATE.branch_seconds_per_run[0] == pytest.approx(1e-6)


def test_there_and_back() -> None:
    assert from_record(ComparisonReplicate, json.loads(json.dumps(to_record(REPLICATE)))) == REPLICATE


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("base_block_nanoseconds", [1, 2, 3]),
        ("base_block_nanoseconds", [1, 0]),
        ("branch_block_nanoseconds", [1.5, 2]),
        ("branch_block_nanoseconds", None),
        ("runs_per_block", 0),
        ("runs_per_block", "many"),
        ("layout", None),
        ("whole_seconds", None),
        ("measuring_seconds", -1.0),
    ],
)
def test_damage_is_named(name: str, value: object) -> None:
    with pytest.raises(ResultsFileError):
        from_record(ComparisonReplicate, {**to_record(REPLICATE), name: value})
