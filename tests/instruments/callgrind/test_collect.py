"""Timer.collect_callgrind as a user calls it: one server for the process, Python and C++, torch's answers."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from photometer import CallgrindStats, CopyIfCallgrind, Timer
from photometer.errors import DefinitionError, ToolMissing, WorkerCrashed
from photometer.instruments.callgrind import collect
from photometer.instruments.callgrind.collect import KeptServers, current_environment
from photometer.instruments.callgrind.count_task import CountTask
from photometer.model.task import TaskSpec

TASK = CountTask(TaskSpec("pass", "pass"))


class FakeServer:
    made: list[FakeServer]

    def __init__(self, *_: Any, **options: Any) -> None:
        self.alive, self.closed, self.options, self.counted = True, False, options, 0
        FakeServer.made.append(self)

    def count(self, task: CountTask, *, keep_text: bool) -> int:
        self.counted += 1
        if not self.alive:
            raise WorkerCrashed("the environment's server is gone")
        return self.counted

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> KeptServers:
    FakeServer.made = []
    monkeypatch.setattr(collect, "CountingServer", FakeServer)
    return KeptServers()


def test_the_second_call_uses_the_same_server(kept: KeptServers) -> None:
    assert [kept.count(TASK), kept.count(TASK)] == [1, 2]
    assert len(FakeServer.made) == 1


def test_simulations_have_a_server_of_their_own(kept: KeptServers) -> None:
    kept.count(TASK)
    kept.count(TASK, cache_simulation=True)
    assert [server.options["cache_simulation"] for server in FakeServer.made] == [False, True]
    kept.close()
    assert all(server.closed for server in FakeServer.made)


def test_a_server_that_is_gone_is_replaced_by_the_next_call(kept: KeptServers) -> None:
    kept.count(TASK)
    FakeServer.made[0].alive = False
    with pytest.raises(WorkerCrashed):
        kept.count(TASK)
    assert kept.count(TASK) == 1
    assert FakeServer.made[0].closed


def test_pythonpath_reaches_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["/one", "", "/two"]))
    assert current_environment().path == ("/one", "/two")


@pytest.mark.parametrize("arguments", [{"number": 0}, {"repeats": 0}])
def test_numbers_below_one_are_refused(arguments: dict[str, int]) -> None:
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


def test_missing_valgrind_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "KEPT", KeptServers())
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ToolMissing, match="Valgrind"):
        Timer("pass").collect_callgrind()


@pytest.mark.valgrind
@pytest.mark.compiler
@pytest.mark.slow
def test_python_and_cpp_with_one_server() -> None:
    setup = "auto x = torch::ones({4}); auto y = torch::ones({4});"
    native = Timer("auto z = x * y;", setup, language="c++").collect_callgrind(repeats=2)
    stats = Timer("z = x * y", "x = torch.ones(4); y = torch.ones(4)").collect_callgrind()
    assert isinstance(stats, CallgrindStats)
    assert len(native) == 2
    # No interpreter in a compiled loop, and the same kernel in both.
    assert not any("PyEval" in function for _, function in native[0].stats())
    assert any("mul" in function for _, function in native[1].stats())
    assert native[1].counts() < stats.counts()
    assert native[0].figures is not None
    assert native[0].figures.allocator_calls % 100 == 0
    assert len(collect.KEPT._servers) == 1


@pytest.mark.valgrind
@pytest.mark.slow
def test_the_server_ends_with_the_process_that_is_killed() -> None:
    program = (
        "from photometer import Timer; from photometer.instruments.callgrind.collect import KEPT\n"
        "Timer('pass').collect_callgrind()\n"
        "server = next(iter(KEPT._servers.values()))._server\n"
        "print(server.pid, server.folder, flush=True)\n"
        "import os; os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    pid, folder = done.stdout.split()
    # It notices the closed line by itself; leaving takes Valgrind a moment.
    gone = subprocess.run(["timeout", "60", "tail", f"--pid={pid}", "-f", "/dev/null"], check=False)
    assert gone.returncode == 0
    assert not os.path.exists(folder)  # noqa: PTH110
