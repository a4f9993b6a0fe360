"""A comparison of many sides as several of two: what a history store keeps, and what older readers know."""

from __future__ import annotations

from typing import Any

from photometer.analysis.comparison_result import ComparisonFailure, ComparisonRemarks, ComparisonResult
from photometer.analysis.metric_change import MetricChange, judge_metric
from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.model.comparison_sides import described, header_of_side, record_of_side, records_of_side, sides_in
from photometer.model.packed_stacks import ComparisonStacks, pack_stacks
from photometer.model.records import from_record, to_record
from tests.analysis.verdicts import result, verdict

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
