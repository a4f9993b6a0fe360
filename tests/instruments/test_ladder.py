"""Rungs of overriding: which stands on which, and what one adds."""

from __future__ import annotations

import dataclasses

import pytest

from photometer.definition import TimerArgs, load_suite
from photometer.instruments.declaration import Asked
from photometer.instruments.ladder import climb, rungs_below
from photometer.instruments.ready_order import ReadyOrder
from photometer.plan import materialize, select
from photometer.suites.overrides import CALLS, RUNGS, ladder
from tests.session.fake_session import Behaviour, FakeServers

PLAN = materialize(ladder(RUNGS, CALLS[:1]))


def test_every_rung_stands_on_the_one_it_names() -> None:
    below = rungs_below(PLAN)
    found = {order.label[-1]: below[order.id][0].label[-1] if order.id in below else None for order in PLAN}
    assert found == {rung.name: rung.over for rung in RUNGS}


def test_rungs_of_one_call_do_not_stand_on_those_of_another() -> None:
    plan = materialize(load_suite("overrides"))
    calls = {order.id: order.label[:-1] for order in plan}
    below = rungs_below(plan)
    assert len(below) > len(RUNGS)
    assert all(each.label[:-1] == calls[order_id] for order_id, (each,) in below.items())


def test_rungs_of_one_thread_do_not_stand_on_those_of_several() -> None:
    benchmarks = {("call", f"{rung} {n}"): TimerArgs(rung, num_threads=n) for rung in ("low", "high") for n in (1, 2)}
    plan = materialize(benchmarks)
    tags = {"low": "ladder:0", "high": "ladder:1>0"}
    orders = tuple(dataclasses.replace(order, tags=(tags[order.args.stmt],)) for order in plan)
    found = {order.label[-1]: rungs_below(plan.only(orders)).get(order.id, ()) for order in orders}
    assert {name: [each.label[-1] for each in below] for name, below in found.items()} == {
        "low 1": [],
        "low 2": [],
        "high 1": ["low 1"],
        "high 2": ["low 2"],
    }


def test_a_rung_whose_lower_one_is_not_selected_stands_on_nothing() -> None:
    assert rungs_below(select(PLAN, "SubWithTorchFunction")) == {}
    assert rungs_below(materialize(load_suite("standard"))) == {}


def test_a_step_says_what_a_rung_adds() -> None:
    low, high = materialize({("call", name): TimerArgs(name) for name in ("low", "high")})
    with FakeServers({"fake": {"low": Behaviour(1e-6), "high": Behaviour(4e-6)}}).session() as session:
        step = climb(session, Asked(ReadyOrder(high), cores=(0,), against=(ReadyOrder(low),)))
    assert (step.call, step.rung, step.below) == ("call", "high", "low")
    assert (step.order_id, step.below_id) == (high.id, low.id)
    assert step.added_seconds == pytest.approx(3e-6, rel=0.05)
    assert step.below_seconds == pytest.approx(1e-6, rel=0.05)
