"""The gate: which rules a comparison breaks, and which exit status that is."""

from __future__ import annotations

import dataclasses

import pytest
import typer

from photometer.analysis.comparison_result import ComparisonFailure, ComparisonResult, EnvironmentComparison, Outcome
from photometer.analysis.gate import Gate, Threshold
from photometer.analysis.verdict import VerdictWord
from photometer.cli.ci_output import EXIT_OF, margins_of
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
        (("same", "probably slower", "probably faster"), "slower", 0),
        (("same", "probably slower"), "undecided", 0),
        (("same", "probably slower"), "probable", 3),
        (("same", "probably faster"), "probable", 0),
        (("same", "slower"), "probable", 3),
        (("same", "undecided"), "probable", 0),
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


def wide(word: VerdictWord, ratio: float, low: float, high: float) -> ComparisonResult:
    return dataclasses.replace(result(word, ratio), judged=verdict(word, ratio, interval=(low, high)))


@pytest.mark.parametrize(
    ("made", "rules", "outcome", "known"),
    [
        (wide("same", 1.0, 0.96, 1.04), "slower:5%", "fine", True),
        (wide("slower", 1.08, 1.06, 1.1), "slower:5%", "slower", True),
        (wide("slower", 1.03, 1.01, 1.049), "slower:5%", "fine", True),
        # The interval holds the threshold.
        (wide("slower", 1.06, 1.03, 1.09), "slower:5%", "fine", False),
        (wide("slower", 1.06, 1.03, 1.09), "slower:5%,undecided", "undecided", False),
        (wide("slower", 1.06, 1.03, 1.09), "slower:5%,probable", "slower", False),
        (wide("slower", 1.04, 1.01, 1.09), "slower:5%,probable", "fine", False),
        (wide("same", 1.0, 0.92, 1.08), "slower:5%", "fine", False),
        (wide("same", 1.0, 0.92, 1.08), "slower:5%,undecided", "undecided", False),
        # Beyond it, but by evidence that is not complete.
        (wide("probably slower", 1.2, 1.1, 1.3), "slower:5%", "fine", False),
        (wide("probably slower", 1.2, 1.1, 1.3), "slower:5%,probable", "slower", False),
        (wide("probably slower", 1.02, 1.01, 1.03), "slower:5%,probable", "fine", True),
        (wide("probably slower", 1.02, 1.01, 1.03), "probable:1%", "slower", True),
        (wide("probably slower", 1.02, 1.01, 1.03), "probable:3%", "fine", True),
        (result("identical"), "slower:5%", "fine", True),
    ],
)
def test_the_interval_decides_about_a_threshold(
    made: ComparisonResult, rules: str, outcome: Outcome, known: bool
) -> None:
    judged = Gate(parse_rules([rules])).judge(comparison(made))
    assert judged.outcome == outcome
    assert bool(judged.not_known) is not known
    if not known:
        assert "not known whether it is slower by more than the 5 % allowed" in judged.not_known[0].sentence


@pytest.mark.parametrize(
    ("rules", "allowed"),
    [
        ("slower:5%", 0.05),
        ("slower:5%,undecided,instructions:1%", 0.05),
        ("slower:5%,probable", 0.05),
        ("slower:5%,probable:1%", None),
        ("slower", None),
        ("probable:5%", None),
        ("never", None),
    ],
)
def test_what_the_rules_ask_of_a_time(rules: str, allowed: float | None) -> None:
    assert Gate(parse_rules([rules])).allowed_slowdown("add", order("add")) == allowed


def test_a_benchmark_s_own_rule_is_its_question() -> None:
    assert Gate().allowed_slowdown("add", order("add", fail_on=("slower:20%",))) == 0.2


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
    many = EnvironmentComparison(("a", "b", "c"), "suite", (result("slower", title="mul", side=2),))
    assert Gate().judge(many, orders).outcome == "fine"
    assert Gate().judge(many).outcome == "slower"


def test_a_project_that_never_fails_may_have_benchmarks_that_do() -> None:
    gate = Gate((), (Threshold("add", rules=parse_rules(["slower:1%"])),))
    assert gate.judge(comparison(result("slower", 1.05, "add"))).outcome == "slower"
    assert gate.judge(comparison(result("slower", 1.05, "mul"))).outcome == "fine"


def test_what_is_not_measured_is_left_out_of_the_projects_rules() -> None:
    gate = Gate(parse_rules(["slower,memory:0"]), (Threshold(tag="a", rules=parse_rules(["memory:5%"])),))
    left = gate.only({"slower", "undecided"})
    assert (left.rules, left.thresholds[0].rules) == (parse_rules(["slower"]), None)


def test_many_sides() -> None:
    many = EnvironmentComparison(("a", "b", "c"), "suite", (result("slower", 1.03), result("slower", 1.2, side=2)))
    found = Gate(parse_rules(["slower:5%"])).judge(many)
    assert [each.sentence for each in found.breaches] == ["c: slower by 20 %, more than the 5 % allowed"]
    assert found.outcome == "slower"
    assert Gate(parse_rules(["slower:50%"])).judge(many).outcome == "fine"
    assert Gate(parse_rules(["undecided"])).judge(many).outcome == "slower"


def test_a_breach_and_an_acceptance_are_about_one_side() -> None:
    """What is accepted on one side fails on the other, and each is found by its side."""
    mine = result("slower", 1.2, side=1, accepted="known")
    many = EnvironmentComparison(("a", "b", "c"), "suite", (mine, result("slower", 1.3, side=2)))
    found = Gate().judge(many)
    assert [each.sentence for each in found.breaches] == ["c: slower by 30 %"]
    assert [each.sentence for each in found.accepted] == ["b: slower by 20 %"]
    assert found.of(mine.order_id) == ()
    assert found.of(mine.order_id, 2) == found.breaches
    assert [each.side for each in found.of_side(2).breaches] == [1]
    assert found.of_side(1).breaches == ()
    assert len(found.of_side(1).accepted) == 1


def test_what_is_missing_on_one_of_many_sides_is_not_fine() -> None:
    three = ("a", "b", "c")
    failure = ComparisonFailure("id of add", "add", "c", "ZeroDivisionError", place=2)
    failed = EnvironmentComparison(three, "suite", (result("same"),), failures=(failure,))
    assert Gate().judge(failed).outcome == "failed"
    missed = EnvironmentComparison(three, "suite", (result("same"),), not_reached=("add on c",))
    assert Gate().judge(missed).outcome == "fine"
    assert Gate(parse_rules(["undecided"])).judge(missed).outcome == "undecided"


def test_margins_for_all_and_by_tag() -> None:
    assert margins_of(["1%", "noisy=0.02"]) == (0.01, {"noisy": 0.02})
    for value in ("=5%", " =5%"):
        with pytest.raises(typer.BadParameter, match="names no tag"):
            margins_of([value])
