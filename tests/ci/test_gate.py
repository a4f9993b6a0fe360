"""The gate: which rules a comparison breaks, and which exit status that is."""

from __future__ import annotations

import dataclasses

import pytest

from photometer.analysis.comparison_result import ComparisonFailure, ComparisonResult, Outcome
from photometer.analysis.matrix_result import MatrixCell, MatrixComparison, MatrixRow
from photometer.analysis.verdict import VerdictWord
from photometer.ci.fail_rules import parse_rules
from photometer.ci.gate import Gate
from photometer.ci.project import Threshold
from photometer.cli.ci_output import EXIT_OF
from tests.analysis.verdicts import comparison, result, verdict
from tests.ci.reviews import memory, more_instructions


@pytest.mark.parametrize(
    ("words", "fail_on", "code"),
    [
        (("identical", "same"), "slower", 0),
        (("identical", "undecided"), "slower", 0),
        (("identical", "undecided"), "undecided", 4),
        (("slower", "undecided"), "slower", 3),
        (("slower", "undecided"), "undecided", 3),
        (("slower", "undecided"), "never", 0),
        ((), "never", 5),
    ],
)
def test_what_fails_is_for_the_user_to_say(words: tuple[VerdictWord, ...], fail_on: str, code: int) -> None:
    made = comparison(*(result(word, title=word) for word in words))
    assert EXIT_OF[Gate(parse_rules([fail_on])).judge(made).outcome] == code


@pytest.mark.parametrize(
    ("made", "fail_on", "outcome"),
    [
        (result("slower", 1.04), "slower:5%", "fine"),
        (result("slower", 1.06), "slower:5%", "slower"),
        (result("faster", 0.9), "slower:5%", "fine"),
        (result("same", instructions=more_instructions(0.02)), "instructions:1%", "slower"),
        (result("same", instructions=more_instructions(0.009)), "instructions:1%", "fine"),
        # What the memory layout explains is no growth.
        (result("same", instructions=more_instructions(0.0002)), "instructions", "fine"),
        (result("same", memory=memory("more", 100, 101)), "memory:0", "slower"),
        (result("same", memory=memory("more", 100, 101)), "memory:2%", "fine"),
        (result("same", memory=memory("more", 100_000, 170_000)), "memory:64KiB", "slower"),
        (result("same", memory=memory("more", 100_000, 160_000)), "memory:64KiB", "fine"),
        (result("same", memory=memory("unsteady", 100, 200)), "memory:0", "fine"),
        # A gate must not pass because a tool is missing.
        (result("same"), "instructions:1%", "failed"),
        (result("same"), "memory:0", "failed"),
        (result("slower", 1.2, accepted="known"), "slower", "fine"),
        (result("same", accepted="known", memory=memory("more", 1, 2)), "memory", "fine"),
    ],
)
def test_thresholds(made: ComparisonResult, fail_on: str, outcome: Outcome) -> None:
    assert Gate(parse_rules([fail_on])).judge(comparison(made)).outcome == outcome


def test_a_failure_fails_but_something_slower_is_told_first() -> None:
    failure = ComparisonFailure("id", "bad", "base", "ZeroDivisionError")
    gate = Gate()
    assert gate.judge(comparison(result("same"), failures=(failure,))).outcome == "failed"
    assert gate.judge(comparison(result("slower", 1.1), failures=(failure,))).outcome == "slower"


def test_what_was_not_reached_is_undecided() -> None:
    made = comparison(result("same"), not_reached=("mul",))
    assert Gate().judge(made).outcome == "fine"
    assert Gate(parse_rules(["undecided"])).judge(made).outcome == "undecided"


def test_benchmarks_have_thresholds_of_their_own_by_name_and_tag() -> None:
    gate = Gate(
        parse_rules(["slower"]),
        (Threshold(tag="noisy", rules=parse_rules(["slower:10%"])), Threshold("div", rules=parse_rules(["never"]))),
    )
    made = comparison(result("slower", 1.05, "add"), result("slower", 1.05, "mul"), result("slower", 2.0, "div"))
    verdict = gate.judge(made, {"id of mul": ("noisy",), "id of div": ("noisy",)})
    assert [(each.title, each.rule) for each in verdict.breaches] == [("add", "slower")]
    assert "slower by 5.0 %" in verdict.breaches[0].sentence
    assert dataclasses.replace(gate, rules=()).judge(made).outcome == "fine"


def test_what_is_not_measured_is_left_out_of_the_projects_rules() -> None:
    gate = Gate(parse_rules(["slower,memory:0"]), (Threshold(tag="a", rules=parse_rules(["memory:5%"])),))
    left = gate.only({"slower", "undecided"})
    assert (left.rules, left.thresholds[0].rules) == (parse_rules(["slower"]), None)


def test_many_sides() -> None:
    cells = (MatrixCell(1, verdict("slower", 1.03)), MatrixCell(2, verdict("slower", 1.2)))
    matrix = MatrixComparison(("a", "b", "c"), "suite", (MatrixRow("id", "add", cells),))
    found = Gate(parse_rules(["slower:5%"])).judge_matrix(matrix)
    assert [each.sentence for each in found.breaches] == ["c: slower by 20 %, more than the 5 % that are allowed"]
    assert found.outcome == "slower"
    assert Gate(parse_rules(["slower:50%"])).judge_matrix(matrix).outcome == "fine"
    assert Gate(parse_rules(["undecided"])).judge_matrix(matrix).outcome == "slower"
