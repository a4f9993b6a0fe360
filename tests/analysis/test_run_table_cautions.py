"""Which rows are marked, and what is said once."""

from __future__ import annotations

from photometer.analysis.run_table import Doubt, doubts_of, judge_cautions
from photometer.model.measurement import Measurement
from photometer.model.task import TaskSpec


def wide(spread: float) -> tuple[Doubt, ...]:
    return (Doubt("wide-spread", f"It scatters by {spread:.0%}.", "Close what else runs.", spread),)


def test_nothing_is_said_of_good_times() -> None:
    cautions = judge_cautions({}, 100)
    assert not cautions.machine
    assert not cautions.marks


def test_a_few_rows_are_marked_and_the_machine_is_not_blamed() -> None:
    cautions = judge_cautions({"a": wide(0.2), "b": wide(0.3)}, 100)
    assert set(cautions.marks) == {"a", "b"}
    assert not cautions.machine


def test_what_most_rows_have_is_said_once_and_only_the_worst_are_marked() -> None:
    doubts = {f"row {i}": wide(0.2) for i in range(60)} | {"worst": wide(0.9)}
    cautions = judge_cautions(doubts, 168)
    assert set(cautions.marks) == {"worst"}
    assert cautions.machine.startswith("61 of 168 times are doubtful (wide-spread in 61). Close what else runs.")


def test_a_rare_reason_is_marked_also_on_a_noisy_machine() -> None:
    lazy = Doubt("may-do-nothing", "It may do nothing.", "Check the statement.", 0.2)
    doubts = {f"row {i}": wide(0.2) for i in range(60)} | {"lazy": (*wide(0.2), lazy)}
    assert judge_cautions(doubts, 168).marks == {"lazy": (lazy,)}


def test_doubts_of_a_measurement() -> None:
    spec = TaskSpec("x + 1")
    (doubt,) = doubts_of(Measurement(1, [1.0, 1.2, 1.4, 1.6, 1.8, 2.0], spec))
    assert doubt.kind == "wide-spread"
    assert 0.2 < doubt.spread < 0.5
    assert doubts_of(Measurement(1, [], spec)) == ()
