"""What a benchmark may do to its process, its parent and its descriptors; the next one must not notice."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from photometer.errors import ProtocolError, SnippetError, WorkerCrashed, WorkerError, WorkerTimeout
from photometer.session.child_process import signal_name
from photometer.session.session import Session
from photometer.worker.messages import Prepare, Time
from tests.waiting import PATIENCE_SECONDS, wait_until, wait_until_gone

pytestmark = pytest.mark.lengthy


def run(session: Session, stmt: str, setup: str = "pass", timeout_seconds: float = PATIENCE_SECONDS) -> float:
    with session.child() as child:
        child.ask(Prepare(stmt, setup, warmup_runs=1), timeout_seconds)
        return child.ask(Time(3), timeout_seconds).seconds


def assert_the_next_is_fine(session: Session) -> None:
    assert run(session, "y = x + 1", "x = torch.ones(4)") > 0


FLOODS = {
    "text": "b'x' * 64",
    "half a message": r"b'\0\0\0\0\0\0\x10\0'",
    "an endless message": r"b'\xff' * 8",
    "a message that is not JSON": r"b'\0\0\0\0\0\0\0\2ab'",
    "a reply of its own": r"""b'\0\0\0\0\0\0\0\x26{"ok": true, "id": 1, "first_seconds":1}'""",
}


@pytest.mark.parametrize("what", FLOODS.values(), ids=FLOODS)
@pytest.mark.parametrize("numbers", ["range(3, 30)", "range(3, 1024)"])
def test_writing_to_every_descriptor(session: Session, what: str, numbers: str) -> None:
    setup = f"""
import os
for number in {numbers}:
    try:
        os.write(number, {what})
    except OSError:
        pass
"""
    if numbers == "range(3, 30)":
        # As many as a program opens itself: the line is not among them.
        assert run(session, "pass", setup) >= 0
    else:
        with pytest.raises((ProtocolError, WorkerTimeout)):
            run(session, "pass", setup, timeout_seconds=3.0)
    assert_the_next_is_fine(session)


def test_closing_every_descriptor(session: Session) -> None:
    with pytest.raises(WorkerError):
        run(session, "pass", "import os; os.closerange(0, 2000)", timeout_seconds=3.0)
    assert_the_next_is_fine(session)


@pytest.mark.parametrize("where", ["setup", "stmt"])
def test_a_fork_that_comes_back_is_not_a_second_child(session: Session, where: str) -> None:
    texts = {"setup": "pass", "stmt": "pass", where: "import os; os.fork()"}
    assert run(session, texts["stmt"], texts["setup"]) > 0
    assert_the_next_is_fine(session)


def test_a_signal_without_a_name(session: Session) -> None:
    with pytest.raises(WorkerCrashed, match="signal 40"):
        run(session, "import os; os.kill(os.getpid(), 40)")
    assert_the_next_is_fine(session)
    assert signal_name(11) == "SIGSEGV"


@pytest.mark.parametrize("clock", ["float('nan')", "float('inf')", "-1.0", "'text'"])
def test_a_clock_that_was_replaced_is_not_ours(session: Session, clock: str) -> None:
    seconds = run(session, "sum(range(1000))", f"import time; time.perf_counter = lambda: {clock}")
    assert isinstance(seconds, float)
    assert math.isfinite(seconds)
    assert seconds > 0


def test_killing_the_server_costs_this_benchmark_alone(session: Session) -> None:
    with pytest.raises(WorkerCrashed, match="server has ended"):
        run(session, "pass", "import os, signal, time; os.kill(os.getppid(), signal.SIGKILL); time.sleep(5)")
    assert_the_next_is_fine(session)


def test_a_server_that_was_stopped_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    with Session() as session:
        with session.server() as server:
            stopped = server.pid
        with monkeypatch.context() as impatient:
            impatient.setattr("photometer.session.child_process.LEAVING_SECONDS", 1.0)
            run(session, "pass", "import os, signal; os.kill(os.getppid(), signal.SIGSTOP)")
        assert_the_next_is_fine(session)
        # Its zygote takes note of its end in its own time.
        wait_until_gone([stopped])


STARTED = {
    "a program": "import subprocess; subprocess.Popen(['sleep', '401'])",
    "a fork": "import os, time\nif os.fork() == 0: time.sleep(401)",
    "a fork of a session of its own": "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(401)",
    "a fork of a fork": "import os, time\nif os.fork() == 0:\n    os.fork()\n    time.sleep(401)",
}


@pytest.mark.parametrize("setup", STARTED.values(), ids=STARTED)
def test_processes_that_outlive_their_benchmark_are_ended(session: Session, setup: str) -> None:
    with session.server() as server:
        with server.child() as child:
            child.ask(Prepare("pass", setup), PATIENCE_SECONDS)
            assert child.ask(Time(1), PATIENCE_SECONDS).seconds >= 0
            own = [int(pid) for pid in Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()]
            assert own
        assert server.strays >= 1
        assert "left running were ended" in server.output()
    for pid in own:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


RAISED = {
    "a bare BaseException": ("raise BaseException('mine')", "BaseException: mine"),
    "an exit": ("raise SystemExit(3)", "SystemExit: 3"),
    "an interrupt": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "one that cannot be shown": (
        "class E(Exception):\n    def __str__(self): raise ValueError('no')\nraise E",
        "its message cannot be shown",
    ),
    "an endless chain": ("def f(): f()\nf()", "RecursionError"),
}


@pytest.mark.parametrize(("stmt", "words"), RAISED.values(), ids=RAISED)
def test_whatever_is_raised_is_reported_as_such(session: Session, stmt: str, words: str) -> None:
    with pytest.raises(SnippetError, match=words):
        run(session, stmt)
    assert_the_next_is_fine(session)


def test_a_server_that_is_starting_ends_with_its_owner(tmp_path: Path) -> None:
    """Killed while torch is being imported: neither process nor folder is left."""
    (tmp_path / "slow").mkdir()
    begun = tmp_path / "begun"
    (tmp_path / "slow" / "torch.py").write_text(f"import time; open({str(begun)!r}, 'w').close(); time.sleep(600)\n")
    script = (
        "import sys\n"
        "from photometer.model.machine import Environment\n"
        "from photometer.session.session import ServerKind, Session\n"
        f"session = Session(Environment(sys.executable, ({str(tmp_path / 'slow')!r},)))\n"
        "session.start_ahead([ServerKind()])\n"
        "(server,) = session._all\n"
        "print(server.zygote.process.pid, server.zygote.place.folder, flush=True)\n"
        "import time; time.sleep(600)\n"
    )
    near = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert near.stdout is not None
    pid, folder = near.stdout.readline().split()
    # Until it has begun to import: then it sleeps.
    wait_until(begun.exists)
    near.kill()
    near.wait()
    wait_until_gone([int(pid)])
    wait_until(lambda: not Path(folder).exists())
