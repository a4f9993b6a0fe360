from __future__ import annotations

import math

import pytest

from photometer.analysis.judge import judge_replicates
from photometer.analysis.ladder import (
    Ladder,
    LadderStep,
    build_ladder,
    check_expectations,
    rung_pairs,
)
from photometer.analysis.verdict import Verdict
from photometer.definition import load_suite
from photometer.model.records import to_record
from photometer.model.results_format import encode_record
from photometer.plan import materialize, select
from photometer.stats.replicate import ReplicateEstimate
from photometer.suites.overrides import CALLS, RUNGS, ladder

PLAN = materialize(ladder(RUNGS, CALLS[:1]))
IDS = {order.label[-1]: order.id for order in PLAN}


def verdict(base_seconds: float, ratio: float) -> Verdict:
    logs = [math.log(ratio) + wobble for wobble in (0.001, -0.001, 0.0005, -0.0005, 0.0, 0.001, -0.001, 0.0)]
    estimates = [ReplicateEstimate(log, log, 0.001, base_seconds, base_seconds * ratio, 100) for log in logs]
    return judge_replicates(estimates, forecast=False)


def test_every_rung_stands_on_the_one_it_names() -> None:
    below = {pair.rung: None if pair.below is None else pair.below.label[-1] for pair in rung_pairs(PLAN)}
    assert below == {rung.name: rung.over for rung in RUNGS}


def test_rungs_of_one_call_do_not_stand_on_those_of_another() -> None:
    for pair in rung_pairs(materialize(load_suite("overrides"))):
        assert pair.below is None or pair.below.label[:-1] == pair.order.label[:-1]


def test_a_rung_whose_lower_one_is_not_selected_is_a_ground() -> None:
    (pair,) = rung_pairs(select(PLAN, "SubWithTorchFunction"))
    assert (pair.rung, pair.below) == ("SubWithTorchFunction", None)


def test_a_suite_without_rungs_has_no_pairs() -> None:
    assert rung_pairs(materialize(load_suite("standard"))) == ()


def test_what_is_added_is_over_the_rung_below() -> None:
    verdicts = {IDS["Tensor"]: verdict(1e-6, 1.0), IDS["SubTensor"]: verdict(1e-6, 4.0)}
    instructions = {IDS["TorchFunctionOff"]: 4000.0, IDS["Tensor"]: 4010.0, IDS["SubTensor"]: 20_000.0}
    built = build_ladder(rung_pairs(PLAN), verdicts, instructions)
    sub = built.step("torch.add", "SubTensor")
    assert sub is not None
    assert sub.below == "Tensor"
    assert sub.seconds == pytest.approx(4e-6, rel=0.01)
    assert sub.added_seconds == pytest.approx(3e-6, rel=0.01)
    assert sub.added_interval_seconds is not None
    assert sub.added_interval_seconds[0] < 3e-6 < sub.added_interval_seconds[1]
    assert sub.added_instructions == 15_990.0
    ground = built.step("torch.add", "TorchFunctionOff")
    assert ground == LadderStep(
        "torch.add", "TorchFunctionOff", None, seconds=1e-6, instructions=4000.0, order_id=IDS["TorchFunctionOff"]
    )


def test_what_was_not_measured_is_none_and_not_nothing() -> None:
    built = build_ladder(rung_pairs(PLAN), {}, {})
    assert len(built.steps) == len(RUNGS)
    assert all(step.seconds is None and step.added_seconds is None for step in built)
    assert built.step("torch.add", "nobody") is None


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
