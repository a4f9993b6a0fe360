"""Instructions of all sides, without a process: each side its own orders, errors in their place."""

from __future__ import annotations

import contextlib
import threading

import pytest

from photometer.comparing import counts
from photometer.comparing.counts import CountedSuite, CountsUnderWay, SideOutcome, count_sides
from photometer.comparing.source import Contest, Observer
from photometer.definition.timer_args import TimerArgs
from photometer.errors import PhotometerError, ToolMissing, WorkerStartError
from photometer.session.layout import Layout
from tests.comparing.fake_source import FakeSource
from tests.session.fake_session import Behaviour

GOOD = {"good": Behaviour(instructions_per_run=7), "other": Behaviour(instructions_per_run=9)}
SUITE = {name: TimerArgs(name) for name in ("good", "other")}


@pytest.fixture(autouse=True)
def no_valgrind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("photometer.session.session._callgrind", lambda counting: ("valgrind",))


def counted(source: FakeSource, layout: Layout | None = None) -> tuple[CountedSuite, list[SideOutcome]]:
    """Count everything on all sides. Return it, and all outcomes."""
    outcomes: list[SideOutcome] = []
    with contextlib.ExitStack() as stack:
        sides = source.open(stack, Observer())
        checked = source.check(sides, Observer())
        ids = [order.id for order in checked.orders]
        found = count_sides(sides, checked, ids, layout=layout, on_count=lambda _, __, each: outcomes.append(each))
        source.left_open = [not server.closed for server in source.servers.made if server.launch.wrapper]
    return found, outcomes


@pytest.mark.parametrize("layout", [Layout(), Layout(1, 0)])
def test_every_side_is_counted(layout: Layout) -> None:
    source = FakeSource(SUITE, {"one": GOOD, "two": GOOD, "three": {**GOOD, "good": Behaviour(instructions_per_run=8)}})
    found, outcomes = counted(source, layout)
    order, _ = source.plan().orders
    assert len(outcomes) == len(found.counts) == 6
    assert found.is_identical(order, Contest(0, 1))
    assert not found.is_identical(order, Contest(0, 2))
    assert found.is_identical(source.plan()[1], Contest(0, 2))
    assert found.change(order.id, 2).difference_per_run == pytest.approx(1)
    assert set(found.against_reference()) == {(each.id, place) for each in source.plan() for place in (1, 2)}


def test_servers_of_the_frozen_layout_stay_for_what_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    for layout, stays in ((Layout(), True), (Layout(1, 0), False)):
        source = FakeSource(SUITE, {"one": GOOD, "two": GOOD})
        counted(source, layout)
        assert source.left_open == [stays, stays]


def test_an_error_costs_its_order_on_its_side_alone() -> None:
    source = FakeSource(SUITE, {"one": GOOD, "two": {**GOOD, "good": Behaviour(dies=True)}})
    found, outcomes = counted(source)
    order, other = source.plan().orders
    assert [isinstance(each, PhotometerError) for each in outcomes].count(True) == 1
    assert found.pair(order.id, Contest(0, 1)) is None
    assert found.ratio(order.id, Contest(0, 1)) is None
    assert found.pair(other.id, Contest(0, 1)) is not None


def test_an_environment_that_does_not_start_is_an_error_of_all() -> None:
    source = FakeSource(SUITE, {"one": GOOD, "two": GOOD})
    source.servers.fails["two"] = WorkerStartError("no such interpreter")
    with pytest.raises(WorkerStartError):
        counted(source)


@pytest.mark.parametrize(("error", "killed"), [(ToolMissing("no Valgrind"), False), (KeyboardInterrupt(), True)])
def test_sessions_that_time_survive_if_there_is_no_valgrind(
    error: BaseException, killed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = FakeSource(SUITE, {"one": GOOD, "two": GOOD})
    with contextlib.ExitStack() as stack:
        sides = source.open(stack, Observer())
        checked = source.check(sides, Observer())
        for side in sides:
            side.session.facts()
        asked: list[str] = []
        monkeypatch.setattr("photometer.session.session.Session.kill", lambda session: asked.append("killed"))

        def fail(*arguments: object) -> None:
            raise error

        monkeypatch.setattr(counts, "count_ready", fail)
        with pytest.raises(type(error)):
            count_sides(sides, checked, [order.id for order in checked.orders])
    assert bool(asked) is killed


def test_counting_that_is_left_early_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    source = FakeSource(SUITE, {"one": GOOD, "two": GOOD})
    ended = threading.Event()

    def wait_until_ended(*arguments: object) -> SideOutcome:
        assert ended.wait(60)
        raise WorkerStartError("the worker ended while starting")

    monkeypatch.setattr("photometer.session.session.Session.kill", lambda session: ended.set())
    monkeypatch.setattr(counts, "count_ready", wait_until_ended)
    with contextlib.ExitStack() as stack:
        sides = source.open(stack, Observer())
        with CountsUnderWay(sides, source.check(sides, Observer())) as underway:
            pass
    assert underway.so_far().warnings == ("instructions of 2 benchmarks were not counted: measuring ended first",)


def test_counts_are_pending_until_they_are_taken() -> None:
    """Whoever sorts by counts must not see one as known before it has sorted it."""
    source = FakeSource(SUITE, {"one": GOOD, "two": GOOD})
    with contextlib.ExitStack() as stack:
        sides = source.open(stack, Observer())
        checked = source.check(sides, Observer())
        ids = {order.id for order in checked.orders}
        with CountsUnderWay(sides, checked) as underway:
            while not underway.is_finished:
                underway.wait(60)
            assert all(underway.is_pending(each, Contest(0, 1)) for each in ids)
            assert set(underway.take()) == ids
            assert not any(underway.is_pending(each, Contest(0, 1)) for each in ids)
