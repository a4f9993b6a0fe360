from __future__ import annotations

import math

import pytest

from photometer.analysis.judge import judge_replicates
from photometer.analysis.ladder import Ladder, LadderStep, build_ladder, rung_pairs
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
