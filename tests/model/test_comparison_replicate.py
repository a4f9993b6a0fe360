"""Replicates as a file keeps them: the same numbers out as in, and damage is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from photometer.analysis.comparison_result import ComparisonFailure, ComparisonRemarks, ComparisonResult
from photometer.analysis.figure_change import MetricChange, judge_metric
from photometer.errors import ResultsFileError
from photometer.model.comparison_replicate import (
    ComparisonReplicate,
    described,
    header_of_side,
    record_of_side,
    records_of_side,
    sides_in,
)
from photometer.model.packed_stacks import ComparisonStacks, pack_stacks
from photometer.model.records import from_record, to_record
from tests.analysis.verdicts import result, verdict

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


SIDES = [{"spec": name} for name in ("a", "b", "c")]
ABOUT = {"id": "7", "suite": "s", "names": ["a", "b", "c"]}
HEADER: dict[str, Any] = {"format": "photometer-results", "comparison": described(ABOUT, SIDES)}
TWO: dict[str, Any] = {"comparison": described({"id": "7", "names": ["a", "b"]}, SIDES[:2])}


def test_two_sides_are_base_and_branch_and_more_are_a_list() -> None:
    assert TWO["comparison"]["base"] == {"spec": "a"}
    assert TWO["comparison"]["branch"] == {"spec": "b"}
    assert "sides" not in TWO["comparison"]
    assert HEADER["comparison"]["sides"] == SIDES
    assert not {"base", "branch"} & set(HEADER["comparison"])


def test_the_number_of_sides() -> None:
    assert (sides_in(HEADER), sides_in(TWO), sides_in({"run": {}}), sides_in({"comparison": 1})) == (3, 2, 0, 0)


def test_the_header_of_a_side_is_one_of_two() -> None:
    own = header_of_side(HEADER, 2)
    assert sides_in(own) == 2
    # Each side has an identity of its own, the same whenever it is read.
    assert own["comparison"] == {
        **{"id": "7-2", "suite": "s", "names": ["a", "c"]},
        **{"base": {"spec": "a"}, "branch": {"spec": "c"}},
    }
    assert header_of_side(HEADER, 1)["comparison"]["id"] == "7-1"
    assert own["format"] == "photometer-results"
    assert header_of_side(TWO, 1) == TWO
    assert HEADER["comparison"]["sides"] == SIDES, "the whole header is as it was"


def records() -> list[dict[str, Any]]:
    slower = result("slower", 1.2, side=2, before=1, step=verdict("same"))
    stacks = pack_stacks([(("main",), 5)])
    seconds = {0: [1e-6], 2: [2e-6]}
    return [
        {**to_record(result("same")), "order": {"id": "id of add"}},
        {**to_record(slower), "order": {"id": "id of add"}},
        to_record(ComparisonStacks("id of add", 100, stacks, stacks, 2)),
        to_record(judge_metric("id of add", "add", "loss", [1.0], [2.0], side=2)),
        to_record(ComparisonFailure("id of mul", "mul", "b", "ValueError", place=1)),
        to_record(ComparisonFailure("id of div", "div", "a", "ValueError", place=0)),
        to_record(ComparisonFailure("id of pow", "pow", "", "it broke")),
        to_record(
            ComparisonReplicate.from_seconds("id of add", 100, seconds, measuring_seconds=0.2, whole_seconds=0.25)
        ),
        to_record(ComparisonRemarks(("careful",))),
        {"kind": "hologram", "side": 5},
    ]


def test_the_records_of_a_side() -> None:
    first, second = records_of_side(records(), 1), records_of_side(records(), 2)
    everyone = ["comparison_failure", "comparison_failure", "comparison_remarks", "hologram"]
    assert [record["kind"] for record in first] == ["comparison", "comparison_failure", *everyone]
    assert [record["kind"] for record in second] == [
        *("comparison", "comparison_stacks", "comparison_metric"),
        *everyone[:2],
        "comparison_replicate",
        *everyone[2:],
    ]
    slower = from_record(ComparisonResult, second[0])
    assert (slower.verdict, slower.side, slower.before, slower.step) == ("slower", 1, 0, None)
    # What is beside the result stays: a store finds the benchmark by it.
    assert second[0]["order"] == {"id": "id of add"}
    assert from_record(ComparisonStacks, second[1]).side == 1
    assert from_record(MetricChange, second[2]).side == 1
    assert from_record(ComparisonReplicate, second[5]).seconds_per_run == {0: (1e-6,), 1: (2e-6,)}


def test_a_failure_says_on_which_of_two_sides_it_was() -> None:
    failures = [from_record(ComparisonFailure, each) for each in records() if each["kind"] == "comparison_failure"]
    own = {
        side: [
            (failure.title, failure.side, failure.place)
            for record in records_of_side(map(to_record, failures), side)
            for failure in (from_record(ComparisonFailure, record),)
        ]
        for side in (1, 2)
    }
    # If it is not known on which side, it is a failure of all.
    shared = [("div", "base", 0), ("pow", "", None)]
    assert own == {1: [("mul", "branch", 1), *shared], 2: shared}


def test_a_record_of_two_sides_is_that_of_the_first() -> None:
    record = to_record(result("same"))
    assert record_of_side(record, 1) == record
    assert record_of_side(record, 2) is None
