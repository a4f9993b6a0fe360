from __future__ import annotations

from photometer.analysis.ladder import Ladder
from photometer.definition import load_suite
from photometer.dispatch_ladder import is_ladder, measure_ladder
from photometer.plan import materialize, select

PLAN = materialize(load_suite("overrides"))


def test_only_a_suite_with_rungs_is_a_ladder() -> None:
    assert is_ladder(PLAN)
    assert not is_ladder(materialize(load_suite("standard")))
    assert not is_ladder(select(PLAN, "torch.add and SubTensor"))


def test_a_ladder_from_the_plan_to_its_figures() -> None:
    plan = select(PLAN, "torch.add and (Tensor or TorchFunctionOff) and not (Function or Dispatch) or TorchFunctionOff")
    plan = plan.only(tuple(order for order in plan if order.label[0] == "torch.add"))
    assert [order.label[-1] for order in plan] == ["TorchFunctionOff", "Tensor", "SubTensor"]
    counts = {order.id: 1000.0 * number for number, order in enumerate(plan, start=1)}
    ladder: Ladder = measure_ladder(plan, instructions=counts, replicates=3)
    sub, tensor = ladder.step("torch.add", "SubTensor"), ladder.step("torch.add", "Tensor")
    assert sub is not None
    assert tensor is not None
    assert sub.seconds is not None
    assert tensor.seconds is not None
    # What a Python function adds to a call is more than half of the call; that holds on every machine.
    assert sub.seconds > 1.5 * tensor.seconds
    assert sub.added_seconds is not None
    assert sub.added_interval_seconds is not None
    assert sub.added_interval_seconds[0] < sub.added_seconds < sub.added_interval_seconds[1]
    assert sub.added_instructions == 1000.0
