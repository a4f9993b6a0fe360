"""Forks of this process: they have its objects, and their death and endlessness come back as errors."""

from __future__ import annotations

import os
import signal

import pytest

from photometer.errors import SnippetError, WorkerCrashed, WorkerTimeout
from photometer.session.forks_here import can_fork, fork_here
from photometer.worker.messages import Prepare, Time

pytestmark = pytest.mark.skipif(not can_fork(), reason="no fork here")


def run(stmt: str, timeout_seconds: float = 30.0, **names: object) -> float:
    with fork_here(names) as child:
        child.ask(Prepare(stmt), timeout_seconds)
        return child.ask(Time(1), timeout_seconds).seconds


def test_the_fork_has_our_objects_and_changes_none_of_them() -> None:
    seen: list[int] = []
    assert run("seen.append(1); assert os.getpid() != pid", seen=seen, os=os, pid=os.getpid()) > 0
    assert seen == []


def test_what_the_statement_raises_is_an_error_with_its_line() -> None:
    with pytest.raises(SnippetError, match="ZeroDivisionError") as caught:
        run("1 / 0")
    assert "1 / 0" in (caught.value.log or "")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_a_crash_is_named(name: str) -> None:
    with pytest.raises(WorkerCrashed, match=name):
        run("os.kill(os.getpid(), number)", os=os, number=int(getattr(signal, name)))


def test_an_exit_is_a_crash() -> None:
    with pytest.raises(WorkerCrashed, match="exit status 7"):
        run("import os; os._exit(7)")


def test_endless_work_is_ended() -> None:
    with fork_here({}) as child:
        child.ask(Prepare("while True: pass"))
        with pytest.raises(WorkerTimeout, match=r"0\.2 s"):
            child.ask(Time(1), 0.2)
    # It is gone, and has been waited for.
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)
