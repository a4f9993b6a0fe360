"""Instructions of both sides, on fake sessions: each side its own orders, errors in their place."""

from __future__ import annotations

import pytest

from photometer.comparing.counts import count_sides
from photometer.comparing.kept_counts import SideCount
from photometer.definition.timer_args import TimerArgs
from photometer.errors import PhotometerError, WorkerStartError
from photometer.execution.executor import ReadyOrder
from photometer.model.environment import Environment
from photometer.plan import materialize
from photometer.session.layout import Layout
from photometer.session.session import Session
from tests.session.fake_session import Behaviour, FakeServers

BEHAVIOURS = {"bad": Behaviour(raises="no"), "die": Behaviour(dies=True), "good": Behaviour(instructions_per_run=7)}


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> FakeServers:
    monkeypatch.setattr("photometer.session.session._callgrind", lambda counting: ("valgrind",))
    return FakeServers({"base": BEHAVIOURS, "branch": BEHAVIOURS})


def sessions(servers: FakeServers) -> list[Session]:
    return [servers.session(Environment(name)) for name in ("base", "branch")]


def orders(*statements: str) -> list[ReadyOrder]:
    return [ReadyOrder(order) for order in materialize({stmt: TimerArgs(stmt) for stmt in statements})]


def test_an_error_stands_in_its_place_and_the_servers_are_given_back(servers: FakeServers) -> None:
    counted = []
    # Those of the frozen layout stay for what changed; those of another are not needed again.
    for layout in (Layout(), Layout(1, 0)):
        sides = count_sides(
            sessions(servers),
            [orders("good", "bad"), orders("bad", "good")],
            layout=layout,
            on_count=lambda *_: counted.append(1),
        )
        kinds = [[isinstance(outcome, SideCount) for outcome in side] for side in sides]
        assert kinds == [[True, False], [False, True]]
    assert len(counted) == 8
    assert [server.closed for server in servers.made] == [False, False, True, True]


def test_a_server_that_dies_costs_one_order(servers: FakeServers) -> None:
    (side,) = count_sides(sessions(servers)[:1], [orders("die", "good")])
    assert isinstance(side[0], PhotometerError)
    assert isinstance(side[1], SideCount)


def test_an_environment_that_does_not_start_is_an_error_of_all(servers: FakeServers) -> None:
    servers.fails["branch"] = WorkerStartError("no such interpreter")
    with pytest.raises(WorkerStartError):
        count_sides(sessions(servers), [orders("good"), orders("good")])
