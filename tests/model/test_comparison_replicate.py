"""Replicates as a file keeps them: the same numbers out as in, and damage is named."""

from __future__ import annotations

import json

import pytest

from photometer.errors import ResultsFileError
from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.model.records import from_record, to_record

REPLICATE = ComparisonReplicate.from_seconds(
    "id", 400, {0: [1.25e-6, 1.5e-6], 1: [1e-6, 0.0]}, measuring_seconds=0.2, whole_seconds=0.25, layout=2
)


def test_blocks_are_whole_nanoseconds() -> None:
    assert REPLICATE.base_block_nanoseconds == (500_000, 600_000)
    # No block took no time: it would be divided by.
    assert REPLICATE.branch_block_nanoseconds == (400_000, 1)
    assert REPLICATE.seconds_per_run[0] == pytest.approx((1.25e-6, 1.5e-6))
    assert REPLICATE.seconds_per_run[1][0] == pytest.approx(1e-6)


MANY = ComparisonReplicate.from_seconds(
    "id", 100, {0: [1e-6, 2e-6], 2: [3e-6, 4e-6], 3: [5e-6, 6e-6]}, measuring_seconds=0.2, whole_seconds=0.25
)


def test_two_sides_are_written_as_before() -> None:
    assert set(to_record(REPLICATE)) == {
        *("kind", "order_id", "runs_per_block", "base_block_nanoseconds", "branch_block_nanoseconds"),
        *("measuring_seconds", "whole_seconds", "layout"),
    }


def test_more_sides_are_known_by_their_positions() -> None:
    again = from_record(ComparisonReplicate, json.loads(json.dumps(to_record(MANY))))
    assert again == MANY
    assert again.seconds_per_run == {0: (1e-6, 2e-6), 2: (3e-6, 4e-6), 3: (5e-6, 6e-6)}
    # The benchmark did not run on side 1.
    assert MANY.of_side(1) is None
    third = MANY.of_side(3)
    assert third is not None
    assert third.seconds_per_run == {0: (1e-6, 2e-6), 1: (5e-6, 6e-6)}
    assert (third.order_id, third.measuring_seconds, third.whole_seconds) == ("id", 0.2, 0.25)
    assert "places" not in to_record(third)
    assert REPLICATE.of_side(1) == REPLICATE


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("more_block_nanoseconds", [[1]]),
        ("more_block_nanoseconds", [[1, 0]]),
        ("more_block_nanoseconds", []),
        ("places", [0, 1]),
        ("places", ["a", "b", "c"]),
    ],
)
def test_damage_of_many_sides_is_named(name: str, value: object) -> None:
    with pytest.raises(ResultsFileError):
        from_record(ComparisonReplicate, {**to_record(MANY), name: value})


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
