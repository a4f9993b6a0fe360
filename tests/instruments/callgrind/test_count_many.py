"""Several servers side by side: every task has its outcome, in order, whatever happens to a server."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest

from photometer.errors import PhotometerError, SnippetError, WorkerCrashed, WorkerStartError
from photometer.instruments.callgrind import count_many as module
from photometer.instruments.callgrind.count_many import count_many
from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.callgrind.server_lanes import Outcome
from photometer.model.instruction_counts import InstructionCounts, InstructionFigures
from photometer.model.task import TaskSpec


class Counted:
    def __init__(self, task: CountTask) -> None:
        self.task = task

    def instruction_counts(self) -> InstructionCounts:
        total = int(self.task.task_spec.stmt.split()[-1])
        return InstructionCounts(self.task.task_spec, 1, (InstructionFigures(total, total, 0),))


class FakeServer:
    made: list[FakeServer]

    def __init__(self, *_: Any, **options: Any) -> None:
        self.alive, self.closed, self.options = True, False, options
        self.threads: set[int] = set()
        FakeServer.made.append(self)

    def count(self, task: CountTask) -> Counted:
        self.threads.add(threading.get_ident())
        assert self.alive
        assert not self.closed
        stmt = task.task_spec.stmt
        if stmt.startswith("raise"):
            raise SnippetError(stmt)
        if stmt.startswith("die"):
            self.alive = False
            raise WorkerCrashed("the environment's server is gone")
        if stmt.startswith("interrupt"):
            raise KeyboardInterrupt
        return Counted(task)

    def kill(self) -> None:
        self.alive = False

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def fake_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeServer.made = []
    monkeypatch.setattr(module, "CountingServer", FakeServer)


def tasks(*statements: str) -> list[CountTask]:
    return [CountTask(TaskSpec(stmt, "pass")) for stmt in statements]


def shown(outcomes: list[Outcome]) -> list[object]:
    return [type(o).__name__ if isinstance(o, PhotometerError) else o.stable.total for o in outcomes]


def test_outcomes_come_in_the_order_of_the_tasks() -> None:
    outcomes = count_many(tasks(*(f"count {i}" for i in range(50))), servers=4)
    assert shown(outcomes) == list(range(50))
    assert all(server.closed for server in FakeServer.made)
    assert all(len(server.threads) <= 1 for server in FakeServer.made)


def test_a_failing_task_has_its_error_and_the_others_go_on() -> None:
    outcomes = count_many(tasks("count 1", "raise 2", "count 3"), servers=1)
    assert shown(outcomes) == [1, "SnippetError", 3]
    assert len(FakeServer.made) == 1


def test_a_server_that_died_is_replaced() -> None:
    outcomes = count_many(tasks("count 1", "die 2", "count 3"), servers=1)
    assert shown(outcomes) == [1, "WorkerCrashed", 3]
    assert len(FakeServer.made) == 2
    assert all(server.closed for server in FakeServer.made)


def test_no_more_servers_than_tasks() -> None:
    count_many(tasks("count 1", "count 2"), servers=8)
    assert len(FakeServer.made) <= 2
    assert count_many([], servers=8) == []


def test_a_server_that_does_not_start_is_every_tasks_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> FakeServer:
        raise WorkerStartError("no torch there")

    monkeypatch.setattr(module, "CountingServer", refuse)
    assert shown(count_many(tasks("count 1", "count 2"), servers=2)) == ["WorkerStartError"] * 2


def test_outcomes_are_told_as_they_come() -> None:
    told: dict[int, object] = {}
    count_many(tasks("count 7", "raise 8"), servers=2, on_outcome=lambda i, outcome: told.setdefault(i, outcome))
    assert sorted(told) == [0, 1]
    assert isinstance(told[1], SnippetError)


def test_what_is_no_error_of_ours_ends_the_run_and_closes_the_servers() -> None:
    with pytest.raises(KeyboardInterrupt):
        count_many(tasks("count 1", "interrupt 2", *(f"count {i}" for i in range(20))), servers=2)
    assert all(server.closed for server in FakeServer.made)


def test_ctrl_c_ends_servers_that_are_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    class HangingServer(FakeServer):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.killed = threading.Event()

        def count(self, task: CountTask) -> Counted:
            os.kill(os.getpid(), signal.SIGINT)
            assert self.killed.wait(60), "nobody ended it"
            raise WorkerCrashed("killed")

        def kill(self) -> None:
            self.killed.set()

    monkeypatch.setattr(module, "CountingServer", HangingServer)
    with pytest.raises(KeyboardInterrupt):
        count_many(tasks("count 1", "count 2", "count 3"), servers=1)
    assert [server.closed for server in FakeServer.made] == [True]
