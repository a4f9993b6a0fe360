"""A real server and real children: what they answer, how they die, and that nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from photometer.errors import SnippetError, WorkerCrashed, WorkerStartError, WorkerTimeout
from photometer.model.machine import Environment
from photometer.session.fork_server import ForkServer
from photometer.session.session import Server, Session
from photometer.worker.messages import Prepare, Time
from tests.waiting import wait_until, wait_until_gone

pytestmark = pytest.mark.lengthy


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Session() as session, session.server() as started:
        yield started


def still_works(server: Server) -> None:
    with server.child() as child:
        child.ask(Prepare(stmt="y = x + 1", setup="x = torch.ones(4)", warmup_runs=2))
        assert child.ask(Time(10)).seconds > 0


def test_child_times_blocks(server: Server) -> None:
    with server.child() as child:
        child.ask(Prepare(stmt="y = torch.add(x, 1)", setup="x = torch.ones(4)", warmup_runs=10))
        one = min(child.ask(Time(100)).seconds for _ in range(5))
        many = min(child.ask(Time(10_000)).seconds for _ in range(3))
    assert many > 10 * one


def test_children_do_not_see_each_other(server: Server) -> None:
    for _ in range(2):
        with server.child() as child:
            child.ask(
                Prepare(
                    stmt="pass",
                    setup="import builtins\nassert not hasattr(builtins, 'trace')\nbuiltins.trace = 1",
                )
            )


def test_users_exception_comes_with_the_users_line_and_the_child_lives_on(server: Server) -> None:
    with server.child() as child:
        child.ask(Prepare(stmt="a = 1\nb = a / zero", setup="zero = 1"))
        with pytest.raises(SnippetError, match="ZeroDivisionError") as caught:
            child.ask(Prepare(stmt="a = 1\nb = a / zero", setup="zero = 0", warmup_runs=1))
        assert "b = a / zero" in (caught.value.log or "")
        assert "child.py" not in (caught.value.log or "")
        child.ask(Prepare(stmt="pass", warmup_runs=1))


@pytest.mark.parametrize(
    ("stmt", "expected"),
    [
        ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
        ("import os; os.abort()", "SIGABRT"),
        ("import os; os._exit(3)", "exit status 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
    ],
)
def test_crash_is_reported_and_the_server_lives_on(server: Server, stmt: str, expected: str) -> None:
    with pytest.raises(WorkerCrashed, match=expected), server.child() as child:
        child.ask(Prepare(stmt=stmt, warmup_runs=1))
    still_works(server)


def test_hang_is_killed_after_its_time(server: Server) -> None:
    with server.child() as child:
        with pytest.raises(WorkerTimeout):
            child.ask(Prepare("while True: pass", warmup_runs=1), 0.3)
        with pytest.raises(ProcessLookupError):
            os.kill(child.pid, 0)
    still_works(server)


def test_flood_of_output_is_cut_and_its_end_kept(server: Server) -> None:
    with pytest.raises(WorkerCrashed) as caught, server.child() as child:
        child.ask(
            Prepare(
                stmt="print('x' * 10_000_000); print('last words', flush=True); import os; os._exit(1)",
                warmup_runs=1,
            )
        )
    assert "last words" in (caught.value.log or "")
    assert len(caught.value.log or "") < 100_000
    still_works(server)


def test_what_the_snippet_prints_does_not_disturb_the_line(server: Server) -> None:
    with server.child() as child:
        child.ask(Prepare(stmt="print('{\"ok\": false}'); import sys; print('e', file=sys.stderr)", warmup_runs=1))
        assert child.ask(Time(3)).seconds > 0


def test_memory_error_and_exit_are_answers(server: Server) -> None:
    with server.child() as child:
        for stmt, kind in (("bytearray(10**15)", "MemoryError"), ("raise SystemExit(4)", "SystemExit")):
            with pytest.raises(SnippetError, match=kind):
                child.ask(Prepare(stmt=stmt, warmup_runs=1))


def test_layout_is_the_same_in_two_servers(server: Server) -> None:
    if not server.frozen:
        pytest.skip(server.not_frozen_because or "not frozen")
    stmt = "raise Exception(hex(id(torch.Tensor)) + hex(hash('photometer')))"
    seen = []
    for _ in range(2):
        with Session() as other, other.child() as child, pytest.raises(SnippetError) as caught:
            child.ask(Prepare(stmt=stmt, warmup_runs=1))
        seen.append(str(caught.value).splitlines()[0])
    assert seen[0] == seen[1]


def test_path_and_variables_reach_the_snippet(tmp_path: Path) -> None:
    (tmp_path / "planted_module.py").write_text("VALUE = 5\n")
    environment = Environment(sys.executable, (str(tmp_path),), (("PLANTED", "yes"),))
    with Session(environment) as session, session.child() as child:
        child.ask(
            Prepare(
                stmt="pass",
                setup="import planted_module, os\nassert planted_module.VALUE == 5\n"
                "assert os.environ['PLANTED'] == 'yes'",
            )
        )


def test_interpreter_without_torch_is_told(tmp_path: Path) -> None:
    hidden = Environment(sys.executable, (str(tmp_path),))
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')\n")
    with pytest.raises(WorkerStartError, match="no torch here") as caught:
        Session(hidden).facts()
    assert "Install torch" in str(caught.value)
    with pytest.raises(WorkerStartError):
        Session(Environment("/no/such/python")).facts()


def test_nothing_is_left_after_kill_9(tmp_path: Path) -> None:
    """The near side is killed while its child hangs in user code: server, child and folder must all go."""
    script = (
        "from photometer.session.session import Session\n"
        "from photometer.worker.messages import Prepare\n"
        "with Session().server() as server, server.child() as child:\n"
        "    print(server.folder, server.greeting.pid, child.pid, flush=True)\n"
        "    child.ask(Prepare('while True: pass', warmup_runs=1))\n"
    )
    near = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert near.stdout is not None
    folder, *pids = near.stdout.readline().split()
    time.sleep(0.2)
    near.send_signal(signal.SIGKILL)
    near.wait()
    wait_until_gone(map(int, pids))
    wait_until(lambda: not Path(folder).exists())


def test_closing_removes_the_folder() -> None:
    with Session() as session, session.server() as server:
        assert server.folder.is_dir()
        assert server.folder.stat().st_mode & 0o077 == 0
        assert server.folder.parent == Path(tempfile.gettempdir())
    assert not server.folder.exists()
    server.close()


def test_an_interrupt_before_it_is_asked_for_anything_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexec sleep 600\n")
    python.chmod(0o700)
    started: list[subprocess.Popen[bytes]] = []
    popen: Any = subprocess.Popen

    def start(*words: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*words, **options))
        return started[-1]

    def press(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr("photometer.session.zygote.send_request", press)
    with pytest.raises(KeyboardInterrupt):
        Session(Environment(python=str(python))).facts()
    assert started[-1].returncode == -signal.SIGKILL


def test_an_interrupt_while_it_starts_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under Valgrind a start takes 15 s; nobody who pressed Ctrl-C waits for that."""
    pid_file, python = tmp_path / "pid", tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho $$ > {pid_file}.new && mv {pid_file}.new {pid_file}\nexec sleep 600\n")
    python.chmod(0o700)

    waited_for: list[ForkServer] = []
    wait_until_ready = ForkServer.wait_until_ready

    def wait(server: ForkServer, start_seconds: float) -> None:
        waited_for.append(server)
        wait_until_ready(server, start_seconds)

    monkeypatch.setattr(ForkServer, "wait_until_ready", wait)

    def press(*_: object) -> None:
        # Before that it is not ours to end: a worker that gets no request ends by itself, which this one does not.
        if not (waited_for and pid_file.exists()):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            return
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, press)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            Session(Environment(python=str(python))).facts()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)
