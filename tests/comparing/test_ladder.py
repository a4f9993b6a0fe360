from __future__ import annotations

import dataclasses
from typing import NamedTuple

import pytest

from photometer.analysis.ladder import Ladder
from photometer.comparing.ladder import is_ladder, measure_ladder
from photometer.definition import TimerArgs, load_suite
from photometer.plan import materialize, select
from photometer.session.session import Session
from tests.session.fake_session import Behaviour, FakeServers

pytestmark = pytest.mark.lengthy

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
    with Session() as session:
        ladder: Ladder = measure_ladder(plan, session, instructions=counts, most_replicates=3)
    sub, tensor = ladder.step("torch.add", "SubTensor"), ladder.step("torch.add", "Tensor")
    assert sub is not None
    assert tensor is not None
    assert sub.seconds is not None
    assert tensor.seconds is not None
    # What a Python function adds to a call is as much again as the call, or more; no load hides that.
    assert sub.seconds > tensor.seconds
    assert sub.added_seconds is not None
    assert sub.added_interval_seconds is not None
    assert sub.added_interval_seconds[0] < sub.added_seconds < sub.added_interval_seconds[1]
    assert sub.added_instructions == 1000.0


def test_a_rung_that_fails_does_not_end_the_climb() -> None:
    servers = FakeServers({"fake": {"low": Behaviour(1e-6), "high": Behaviour(4e-6), "broken": Behaviour(raises="no")}})
    rungs: dict[tuple[str, ...], Tagged] = {
        ("call", "ground"): Tagged("low", "ladder:0"),
        ("call", "high"): Tagged("high", "ladder:1>0"),
        ("call", "broken"): Tagged("broken", "ladder:2>0"),
        ("call", "again"): Tagged("low", "ladder:3>0"),
    }
    plan = materialize({label: TimerArgs(rung.stmt) for label, rung in rungs.items()})
    orders = tuple(dataclasses.replace(order, tags=(rungs[order.label].tag,)) for order in plan)
    seen: dict[str, str | None] = {}
    with servers.session() as session:
        ladder = measure_ladder(plan.only(orders), session, most_replicates=3, on_rung=seen.__setitem__)
    assert [problem for problem in seen.values()] == [None, "no", None]
    high, broken, again = (ladder.step("call", rung) for rung in ("high", "broken", "again"))
    assert high is not None
    assert high.added_seconds == pytest.approx(3e-6, rel=0.05)
    assert broken is not None
    assert broken.added_seconds is None
    assert again is not None
    assert again.added_seconds == pytest.approx(0.0, abs=5e-8)


class Tagged(NamedTuple):
    stmt: str
    tag: str
