"""Exact figures of instruments in a comparison: measured once per side, judged exactly, and located."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import pytest

from photometer.analysis.figure_change import FigureChange, figure_changes, likely_cause
from photometer.comparing import exact_figures
from photometer.comparing.exact_figures import ExactSuite, compare_exactly, located
from photometer.comparing.source import CheckedPlan, Contest, Observer, StartedSide
from photometer.definition import TimerArgs
from photometer.errors import WorkerCrashed
from photometer.instruments.callgrind.python_frames import FramedSide
from photometer.instruments.declaration import Asked, Figure, Instrument, Option
from photometer.instruments.ready_order import ReadyOrder
from photometer.plan import materialize
from photometer.session.session import Session
from tests.session.fake_session import FakeServers

GATHER = "gather (tiny/model.py)"


@dataclasses.dataclass(frozen=True)
class Weight:
    KIND: ClassVar[str] = "weight"

    grams: float
    stones: float = 0.0


def weigh(session: Session, asked: Asked) -> Weight:
    if asked.order.label == ("broken",):
        raise WorkerCrashed("it fell off the scales")
    return Weight(200.0 if session.environment.name == "branch" else 100.0)


def stacks(session: Session, asked: Asked, figure: Figure) -> FramedSide:
    grams = weigh(session, asked).grams
    return FramedSide((((GATHER, "memcpy"), int(grams)),), 1, {GATHER: 41})


SCALES = Instrument(
    name="weigh",
    doing="weighing",
    record=Weight,
    measure=weigh,
    figures=(
        Figure("stones", "", of=lambda weight: weight.stones, exact=True),
        Figure("grams", "", of=lambda weight: weight.grams, exact=True, head="more of it", tolerance=0.05, least=10.0),
    ),
    option=Option("weigh", "Weigh it."),
    applies=lambda order, options: order.label != ("weightless",),
    stacks=stacks,
)


@pytest.fixture(autouse=True)
def scales_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_figures, "compared_exactly", lambda: (SCALES,))


def two_sides(*names: str) -> tuple[tuple[StartedSide, ...], CheckedPlan]:
    servers = FakeServers()
    sides = tuple(_side(servers, name) for name in ("base", "branch"))
    plan = materialize({name: TimerArgs("pass") for name in names})
    return sides, CheckedPlan(plan.orders, {order.id: dict.fromkeys((0, 1), ReadyOrder(order)) for order in plan})


def _side(servers: FakeServers, name: str) -> StartedSide:
    session = servers.session()
    session.environment = dataclasses.replace(session.environment, name=name)
    return StartedSide(name, session)


def test_nothing_is_measured_that_is_not_asked_for() -> None:
    sides, checked = two_sides("a")
    assert compare_exactly(sides, checked, {}, Observer()) == ExactSuite()


def test_what_differs_is_a_change_of_that_order_and_side() -> None:
    sides, checked = two_sides("a", "weightless")
    found = compare_exactly(sides, checked, {"weigh": True}, Observer())
    stones, grams = found.of(checked.orders[0].id, 1)
    assert (stones.verdict, grams.verdict, grams.difference) == ("equal", "more", 100.0)
    assert found.of(checked.orders[1].id, 1) == ()
    # Such an order is not identical, although it may execute the same instructions.
    assert found.differs(checked.orders[0].id, Contest(0, 1))
    assert not found.differs(checked.orders[1].id, Contest(0, 1))


def test_what_cannot_be_measured_is_a_warning_and_no_more() -> None:
    sides, checked = two_sides("broken", "a")
    found = compare_exactly(sides, checked, {"weigh": True}, Observer())
    assert found.warnings == ("weighing failed for 1 benchmark",)
    assert [order_id for order_id, _ in found.changes] == [checked.orders[1].id]


def test_a_change_that_may_explain_a_verdict_is_located() -> None:
    sides, checked = two_sides("a")
    key = (checked.orders[0].id, 1)
    found = compare_exactly(sides, checked, {"weigh": True}, Observer())
    _, grams = located(found, {key: "slower"}, sides, checked, Observer()).of(*key)
    assert grams.sentence == "100 more more of it, 200 in all under gather (tiny/model.py:41)"
    # More of it does not make anything faster.
    assert located(found, {key: "faster"}, sides, checked, Observer()) == found


@pytest.mark.parametrize(("branch", "word"), [(100.0, "equal"), (109.0, "equal"), (111.0, "more"), (80.0, "fewer")])
def test_layouts_of_memory_are_no_change(branch: float, word: str) -> None:
    (_, grams) = figure_changes(SCALES, Weight(100.0), Weight(branch))
    assert grams.verdict == word


def test_of_several_causes_the_last_that_is_declared_is_named() -> None:
    both: tuple[Any, ...] = tuple(FigureChange(name, name, 1.0, 2.0, has_changed=True) for name in ("near", "far"))
    assert likely_cause(both, "slower") == both[1]
    assert likely_cause(both, "same") is None
