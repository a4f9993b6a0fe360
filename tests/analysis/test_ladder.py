from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from photometer.analysis.ladder import Ladder, check_expectations, ladder_of
from photometer.instruments.ladder import LadderStep
from photometer.model.instruction_counts import InstructionCounts, InstructionFigures
from photometer.model.records import to_record
from photometer.model.results_format import encode_record
from photometer.model.task import TaskSpec

TEXT = "y = x + 1"


def counted(order_id: str, instructions: int) -> dict[str, Any]:
    count = InstructionFigures(instructions, instructions, 0)
    counts = InstructionCounts(TaskSpec(TEXT), 1, (count,), frozen_layout=True)
    return {**to_record(counts), "order": {"id": order_id}}


def step_record(rung: str, below: str, base: float, seconds: float) -> dict[str, Any]:
    ends = (seconds - base - 1e-8, seconds - base + 1e-8)
    step = LadderStep("add", rung, below, seconds, seconds - base, ends, order_id=rung, below_id=below)
    return to_record(dataclasses.replace(step, below_seconds=base))


def test_a_ladder_is_made_of_steps_and_counts() -> None:
    records = [
        counted("ground", 4000),
        step_record("first", "ground", 1.0e-6, 1.5e-6),
        counted("first", 4010),
        step_record("second", "first", 1.5e-6, 4.5e-6),
        counted("second", 20_000),
        step_record("other", "ground", 1.2e-6, 2e-6),
    ]
    ladder = ladder_of(records)
    assert ladder is not None
    assert [step.rung for step in ladder] == ["ground", "first", "second", "other"]
    ground, second, other = (ladder.step("add", rung) for rung in ("ground", "second", "other"))
    # It has no step of its own: its time is that of the comparisons with it.
    assert ground is not None
    assert ground.seconds == pytest.approx(1.1e-6)
    assert ground == LadderStep("add", "ground", None, ground.seconds, instructions=4000.0, order_id="ground")
    assert second is not None
    assert second.added_seconds == pytest.approx(3e-6)
    assert (second.instructions, second.added_instructions) == (20_000.0, 15_990.0)
    assert other is not None
    assert (other.instructions, other.added_instructions) == (None, None)


def test_a_ladder_that_has_its_counts_keeps_them() -> None:
    steps = (
        LadderStep("add", "ground", None, 1e-6, instructions=10.0, order_id="g"),
        LadderStep("add", "first", "ground", 2e-6, 1e-6, None, 30.0, 20.0, order_id="f"),
        LadderStep("add", "broken", "first", order_id="b"),
    )
    ladder = ladder_of([*map(to_record, steps), counted("f", 99)])
    assert ladder == Ladder(steps)


def test_a_rung_measured_again_has_its_last_step() -> None:
    ladder = ladder_of([step_record("first", "ground", 1e-6, 2e-6), step_record("first", "ground", 1e-6, 3e-6)])
    assert ladder is not None
    assert [step.rung for step in ladder] == ["ground", "first"]
    assert ladder.steps[1].added_seconds == pytest.approx(2e-6)


def test_a_run_without_rungs_has_no_ladder() -> None:
    assert ladder_of([counted("a", 1)]) is None


def test_a_step_can_stand_in_a_results_file() -> None:
    step = LadderStep("torch.add", "X", "Tensor", 1e-6, 1e-7, (-math.inf, 2e-7))
    assert to_record(step)["kind"] == LadderStep.KIND
    assert to_record(step)["added_interval_seconds"] == [None, 2e-7]
    assert encode_record(step)


def test_calls_keep_the_order_of_the_suite() -> None:
    steps = tuple(LadderStep(call, rung, None) for call in ("b", "a") for rung in ("1", "2"))
    assert list(Ladder(steps).by_call()) == ["b", "a"]


def expected_ladder(
    plain: float = 1.2e-6, zero: tuple[float, float] = (-5e-9, 8e-9), sub: float = 0.5e-6, like: float = 2e-6
) -> Ladder:
    def step(rung: str, below: str, added: float, ends: tuple[float, float]) -> LadderStep:
        return LadderStep("torch.add", rung, below, plain + added, added, ends)

    return Ladder(
        (
            step("Tensor", "TorchFunctionOff", sum(zero) / 2, zero)
            if plain == 1.2e-6
            else LadderStep("torch.add", "Tensor", "TorchFunctionOff", plain, sum(zero) / 2, zero),
            step("SubTensor", "Tensor", sub, (sub * 0.99, sub * 1.01)),
            step("WithTorchFunction", "Tensor", like, (like * 0.99, like * 1.01)),
        )
    )


def agreement(**changes: object) -> list[bool | None]:
    return [expectation.agrees for expectation in check_expectations(expected_ladder(**changes))]  # type: ignore[arg-type]


def test_a_ladder_as_the_readme_has_it() -> None:
    assert agreement() == [True, True, True, True]


@pytest.mark.parametrize(
    ("changes", "place", "agrees"),
    [
        ({"plain": 20e-6}, 0, False),
        # Faster than the README's machines is nothing to complain of.
        ({"plain": 0.3e-6}, 0, True),
        ({"zero": (80e-9, 120e-9)}, 1, False),
        ({"zero": (20e-9, 120e-9)}, 1, None),
        ({"sub": 3e-6}, 2, False),
        ({"like": 0.5e-6}, 3, False),
        ({"like": 9e-6}, 3, False),
    ],
)
def test_what_differs_is_told(changes: dict[str, object], place: int, agrees: bool | None) -> None:
    found = agreement(**changes)
    assert found[place] is agrees
    assert [each for index, each in enumerate(found) if index != place] == [True, True, True]


def test_sentences_hold_the_figures_and_the_judgement() -> None:
    sentences = [expectation.sentence for expectation in check_expectations(expected_ladder(sub=3e-6))]
    assert sentences[1] == (
        "__torch_function__ adds nothing for torch.Tensor: it adds +1.5 ns (-5.0 ns to +8.0 ns) over TorchFunctionOff: "
        "as expected"
    )
    assert sentences[2].endswith("over Tensor: NOT as expected")
    assert "+3.00 µs" in sentences[2]


def test_nothing_measured_is_not_agreement() -> None:
    assert [expectation.agrees for expectation in check_expectations(Ladder(()))] == [None] * 4
    assert all("not measured" in expectation.sentence for expectation in check_expectations(Ladder(())))


def test_counts_of_an_order_without_an_id_are_of_no_rung() -> None:
    nameless = {**counted("first", 1), "order": {"label": ["no id"]}}
    ladder = ladder_of([nameless, step_record("first", "ground", 1.0e-6, 1.5e-6)])
    assert ladder is not None
    assert [step.instructions for step in ladder] == [None, None]
