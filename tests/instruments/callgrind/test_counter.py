"""Counting with fake servers: every task has its outcome, in order, whatever happens to a server."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest

from photometer import CopyIfCallgrind, Timer
from photometer.errors import DefinitionError, PhotometerError, ToolMissing, WorkerCrashed, WorkerStartError
from photometer.instruments.callgrind import counter as module
from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.callgrind.counter import InstructionCounter, Outcome, count_many, count_statement
from photometer.model.task import TaskSpec
from photometer.session.session import Counting, Session
from tests.session.fake_session import Behaviour, FakeServers

BEHAVIOURS = {
    "bad": Behaviour(raises="no"),
    "die": Behaviour(dies=True),
    **{f"count {i}": Behaviour(instructions_per_run=i) for i in range(1, 60)},
}


@pytest.fixture(autouse=True)
def _no_valgrind_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("photometer.session.session._callgrind", lambda counting: ("valgrind",))
    # The session of this process would keep a server that was started so, and later tests would count with it.
    session = FakeServers({"fake": BEHAVIOURS}).session()
    monkeypatch.setattr(module, "process_session", lambda: session)


@pytest.fixture
def servers() -> FakeServers:
    return FakeServers({"fake": BEHAVIOURS})


def tasks(*statements: str) -> list[CountTask]:
    return [CountTask(TaskSpec(stmt, "pass"), number=1) for stmt in statements]


def shown(outcomes: list[Outcome]) -> list[object]:
    return [type(o).__name__ if isinstance(o, PhotometerError) else round(o.instructions_per_run) for o in outcomes]


def counts(servers: FakeServers, *statements: str, threads: int) -> list[object]:
    with servers.session() as session:
        return shown(count_many(tasks(*statements), InstructionCounter(session), servers=threads))


def test_outcomes_come_in_the_order_of_the_tasks(servers: FakeServers) -> None:
    # What the empty loop costs is taken away: it is 1,000 instructions here.
    wanted = [i - 1000 for i in range(1, 51)]
    assert counts(servers, *(f"count {i}" for i in range(1, 51)), threads=4) == wanted
    assert len(servers.made) <= 4
    assert all(server.closed for server in servers.made)


def test_a_failing_task_has_its_error_and_the_others_go_on(servers: FakeServers) -> None:
    assert counts(servers, "count 1", "bad", "count 3", threads=1) == [-999, "SnippetError", -997]
    assert len(servers.made) == 1


def test_a_server_that_died_is_replaced(servers: FakeServers) -> None:
    assert counts(servers, "count 1", "die", "count 3", threads=1) == [-999, "WorkerCrashed", -997]
    assert len(servers.made) == 2
    assert all(server.closed for server in servers.made)


def test_no_more_servers_than_tasks(servers: FakeServers) -> None:
    counts(servers, "count 1", "count 2", threads=8)
    assert len(servers.made) <= 2
    assert counts(servers, threads=8) == []


def test_a_server_that_does_not_start_is_every_tasks_error(servers: FakeServers) -> None:
    servers.fails["fake"] = WorkerStartError("no torch there")
    assert counts(servers, "count 1", "count 2", threads=2) == ["WorkerStartError"] * 2


def test_outcomes_are_reported_as_they_come(servers: FakeServers) -> None:
    seen: dict[int, object] = {}
    with servers.session() as session:
        counter = InstructionCounter(session)
        count_many(tasks("count 7", "bad"), counter, on_outcome=lambda i, outcome: seen.setdefault(i, outcome))
    assert sorted(seen) == [0, 1]
    assert isinstance(seen[1], PhotometerError)


def test_ctrl_c_ends_servers_that_are_counting(monkeypatch: pytest.MonkeyPatch, servers: FakeServers) -> None:
    killed = threading.Event()

    class HangingCounter(InstructionCounter):
        def count(self, task: CountTask, **_: Any) -> Any:
            with self._session.server(self._kind) as server:
                monkeypatch.setattr(server, "kill", killed.set)
                os.kill(os.getpid(), signal.SIGINT)
                assert killed.wait(60), "nobody ended it"
                raise WorkerCrashed("killed")

    with pytest.raises(KeyboardInterrupt), servers.session() as session:
        count_many(tasks("count 1", "count 2", "count 3"), HangingCounter(session), servers=1)
    assert killed.is_set()


def test_the_loop_is_counted_once_per_number_of_runs(servers: FakeServers) -> None:
    with servers.session() as session:
        counter = InstructionCounter(session)
        for number in (1, 1, 2):
            counter.count(CountTask(TaskSpec("count 5", "pass"), number=number))
    assert servers.made[0].forks == 5


def test_simulations_and_layouts_have_servers_of_their_own(servers: FakeServers) -> None:
    with servers.session() as session:
        for counter in (
            InstructionCounter(session),
            InstructionCounter(session, counting=Counting(cache_simulation=True)),
        ):
            counter.count(tasks("count 1")[0])
    assert len(servers.made) == 2


def test_closing_a_counter_ends_its_servers_and_it_can_go_on(servers: FakeServers) -> None:
    with servers.session() as session:
        counter = InstructionCounter(session)
        counter.count(tasks("count 1")[0])
        counter.close()
        assert servers.made[0].closed
        counter.count(tasks("count 1")[0])
    assert len(servers.made) == 2


def test_a_statement_of_the_process_uses_the_same_server_again(
    monkeypatch: pytest.MonkeyPatch, servers: FakeServers
) -> None:
    session: Session = servers.session()
    monkeypatch.setattr(module, "process_session", lambda: session)
    for simulation in (False, False, True):
        count_statement(TaskSpec("count 1", "pass"), number=1, cache_simulation=simulation)
    assert len(servers.made) == 2
    session.close()


@pytest.mark.parametrize("arguments", [{"number": 0}, {"repeats": 0}])
def test_numbers_below_one_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Timer("pass").collect_callgrind(**arguments)


def test_globals_must_be_marked() -> None:
    with pytest.raises(DefinitionError, match="CopyIfCallgrind"):
        Timer("n", globals={"n": 1}).collect_callgrind()
    with pytest.raises(DefinitionError, match="as text"):
        Timer(len, args=([],)).collect_callgrind()


def test_marked_globals_can_be_timed_too() -> None:
    assert Timer("n + 1", globals={"n": CopyIfCallgrind(1)}).timeit(1).median > 0


def test_a_failing_statement_fails_at_once() -> None:
    with pytest.raises(NameError):
        Timer("no_such_name").collect_callgrind()


def test_missing_valgrind_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    session = Session()
    monkeypatch.setattr(module, "process_session", lambda: session)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ToolMissing, match="Valgrind"):
        Timer("pass").collect_callgrind()
