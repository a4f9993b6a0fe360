"""Instructions of both sides, on fake servers: each side its own orders, errors in their place."""

from __future__ import annotations

from typing import Any

import pytest

from photometer.definition.timer_args import TimerArgs
from photometer.errors import WorkerCrashed, WorkerStartError
from photometer.execution import count_sides as module
from photometer.execution.count_sides import count_sides
from photometer.execution.measure_order import ReadyOrder
from photometer.model.environment import Environment
from photometer.plan import materialize

SIDES = (Environment("base"), Environment("branch"))


def orders(*statements: str) -> list[ReadyOrder]:
    return [ReadyOrder(order) for order in materialize({stmt: TimerArgs(stmt) for stmt in statements})]


class FakeServer:
    dies = False

    def __init__(self, environment: Environment, **_: Any) -> None:
        if environment.python == "missing":
            raise WorkerStartError("no such interpreter")
        self.environment = environment
        self.alive = True

    def __enter__(self) -> FakeServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.alive = False

    def count(self, task: Any) -> Any:
        if task.task_spec.stmt == "bad":
            self.alive = not self.dies
            raise WorkerCrashed("crashed")
        raise AssertionError("only failures are faked")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> type[FakeServer]:
    monkeypatch.setattr(module, "CountingServer", FakeServer)
    return FakeServer


@pytest.mark.usefixtures("fake")
def test_an_error_stands_in_its_place() -> None:
    counted = []
    base, branch = count_sides(SIDES, [orders("bad"), orders("bad")], on_count=lambda: counted.append(1))
    assert [str(outcome) for outcome in (*base, *branch)] == ["crashed", "crashed"]
    assert len(counted) == 2


def test_a_server_that_dies_is_an_error_of_all(fake: type[FakeServer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fake, "dies", True)
    with pytest.raises(WorkerCrashed):
        count_sides(SIDES, [orders("bad"), orders("bad")])


@pytest.mark.usefixtures("fake")
def test_an_environment_that_does_not_start_is_told() -> None:
    with pytest.raises(WorkerStartError):
        count_sides((SIDES[0], Environment("missing")), [orders(), orders()])
