"""The gate: which rules a comparison breaks, and which exit status that is."""

from __future__ import annotations

import dataclasses

import pytest

from photometer.analysis.comparison_result import ComparisonFailure, ComparisonResult, Outcome
from photometer.analysis.matrix_result import MatrixCell, MatrixComparison, MatrixRow
from photometer.analysis.verdict import VerdictWord
from photometer.ci.gate import Gate
from photometer.ci.project import Threshold
from photometer.cli.ci_output import EXIT_OF
from photometer.definition import GroupedStmts
from photometer.definition.suite import Suite
from photometer.model.fail_rules import parse_rules
from photometer.plan.expand import materialize
from photometer.plan.work_order import WorkOrder
from tests.analysis.verdicts import comparison, result, verdict
from tests.ci.reviews import memory, more_instructions


def order(name: str, *tags: str, fail_on: tuple[str, ...] | None = None) -> WorkOrder:
    """Return an order as the plan of a suite has it."""
    made = Suite.from_benchmarks({name: GroupedStmts("pass", tags=tags, fail_on=fail_on)})
    return materialize(made)[0]


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
    verdict = gate.judge(made, {"id of mul": order("mul", "noisy"), "id of div": order("div", "noisy")})
    assert [(each.title, each.rule) for each in verdict.breaches] == [("add", "slower")]
    assert "slower by 5.0 %" in verdict.breaches[0].sentence
    assert dataclasses.replace(gate, is_open=True).judge(made).outcome == "fine"


def test_a_suite_says_what_a_benchmark_fails_on() -> None:
    """After the tags', before what is said of its name; whatever the suite says, --fail-on never is never."""
    orders = {
        "id of add": order("add", fail_on=("slower:10%",)),
        "id of mul": order("mul", "strict", fail_on=("never",)),
        "id of div": order("div", fail_on=("slower:10%", "instructions:1%")),
    }
    made = comparison(
        result("slower", 1.05, "add"),
        result("slower", 1.05, "mul"),
        result("slower", 1.05, "div", instructions=more_instructions(0.02)),
    )
    gate = Gate(thresholds=(Threshold(tag="strict", rules=parse_rules(["slower"])),))
    assert [(each.title, each.rule) for each in gate.judge(made, orders).breaches] == [("div", "instructions:1%")]
    by_name = dataclasses.replace(gate, thresholds=(Threshold("a*", rules=parse_rules(["slower:1%"])),))
    assert [each.rule for each in by_name.judge(made, orders).breaches] == ["slower:1%", "instructions:1%"]
    assert gate.only({"slower"}).judge(made, orders).outcome == "fine"
    assert dataclasses.replace(gate, is_open=True).judge(made, orders).outcome == "fine"
    matrix = MatrixComparison(
        ("a", "b"), "suite", (MatrixRow("id of mul", "mul", (MatrixCell(1, verdict("slower")),)),)
    )
    assert Gate().judge_matrix(matrix, orders).outcome == "fine"
    assert Gate().judge_matrix(matrix).outcome == "slower"


def test_a_project_that_never_fails_may_have_benchmarks_that_do() -> None:
    gate = Gate((), (Threshold("add", rules=parse_rules(["slower:1%"])),))
    assert gate.judge(comparison(result("slower", 1.05, "add"))).outcome == "slower"
    assert gate.judge(comparison(result("slower", 1.05, "mul"))).outcome == "fine"


def test_what_is_not_measured_is_left_out_of_the_projects_rules() -> None:
    gate = Gate(parse_rules(["slower,memory:0"]), (Threshold(tag="a", rules=parse_rules(["memory:5%"])),))
    left = gate.only({"slower", "undecided"})
    assert (left.rules, left.thresholds[0].rules) == (parse_rules(["slower"]), None)


def test_many_sides() -> None:
    cells = (MatrixCell(1, verdict("slower", 1.03)), MatrixCell(2, verdict("slower", 1.2)))
    matrix = MatrixComparison(("a", "b", "c"), "suite", (MatrixRow("id", "add", cells),))
    found = Gate(parse_rules(["slower:5%"])).judge_matrix(matrix)
    assert [each.sentence for each in found.breaches] == ["c: slower by 20 %, more than the 5 % allowed"]
    assert found.outcome == "slower"
    assert Gate(parse_rules(["slower:50%"])).judge_matrix(matrix).outcome == "fine"
    assert Gate(parse_rules(["undecided"])).judge_matrix(matrix).outcome == "slower"
