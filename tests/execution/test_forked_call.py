"""Work in a fork: its answer, its death and its endlessness all come back."""

from __future__ import annotations

import os
import signal
import time

import pytest

from photometer.errors import WorkerCrashed, WorkerTimeout
from photometer.execution.forked_call import call_in_fork, can_fork

pytestmark = pytest.mark.skipif(not can_fork(), reason="no fork here")


def test_the_answer_comes_back_and_nothing_else_changes():
    seen = []

    def work():
        seen.append(1)
        return {"pid": os.getpid(), "long": "x" * 300_000}

    answer = call_in_fork(work, 30)
    assert answer["pid"] != os.getpid()
    assert len(answer["long"]) == 300_000
    assert seen == []


@pytest.mark.parametrize(("number", "name"), [(signal.SIGTERM, "SIGTERM"), (signal.SIGKILL, "SIGKILL")])
def test_a_crash_is_named(number, name):
    with pytest.raises(WorkerCrashed, match=name):
        call_in_fork(lambda: os.kill(os.getpid(), number), 30)


def test_an_exit_is_a_crash():
    with pytest.raises(WorkerCrashed, match="exit status 7"):
        call_in_fork(lambda: os._exit(7), 30)


def test_endless_work_is_ended():
    with pytest.raises(WorkerTimeout, match=r"0\.2 s"):
        call_in_fork(lambda: time.sleep(60) or {}, 0.2)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_an_error_of_the_work_itself_is_shown(capfd):
    with pytest.raises(WorkerCrashed, match="exit status 1"):
        call_in_fork(lambda: 1 / 0, 30)
    assert "ZeroDivisionError" in capfd.readouterr().err
