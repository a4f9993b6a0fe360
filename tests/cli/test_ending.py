"""Signals end every command as Ctrl-C does: results are kept, and no process and no folder is left. Real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from photometer.cli.ending import Ending, ending_by_signals
from photometer.execution.visit_journal import JOURNAL_NAME
from tests.cli.test_run import descendants, gone_within

# The last benchmark says that it runs, and runs long: the signal comes in the midst of it. Orders are visited in random
# order, so it runs long only once the first has had a visit.
SUITE = """
from photometer.definition import TimerArgs
BENCHMARKS = {
    "first": TimerArgs("x + 1", "import pathlib; x = torch.ones(3); pathlib.Path('FIRST_RAN').touch()"),
    "long": TimerArgs("time.sleep(0.05)", "import time"),
    "endless": TimerArgs(
        "time.sleep(600 if late else 0.001)",
        "import pathlib, time; late = pathlib.Path('FIRST_RAN').exists(); late and pathlib.Path('IS_RUNNING').touch()",
    ),
}
"""
# They are handled alike, so one is tried before a commit, and Ctrl-C in tests/cli/test_run.py.
SIGNALS = [
    pytest.param(signal.SIGTERM, 143, id="TERM"),
    pytest.param(signal.SIGHUP, 129, id="HUP", marks=pytest.mark.nightly),
    pytest.param(signal.SIGINT, 130, id="INT", marks=pytest.mark.nightly),
]


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "is-running"


@pytest.fixture
def suite(tmp_path: Path, mark: Path) -> str:
    path = tmp_path / "my_suite.py"
    path.write_text(SUITE.replace("IS_RUNNING", str(mark)).replace("FIRST_RAN", str(tmp_path / "first-ran")))
    return str(path)


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "scratch"
    folder.mkdir()
    yield folder
    assert not [path.name for path in folder.iterdir() if path.name.startswith("photometer-")]


def stop_amid(
    words: list[str], folder: Path, scratch: Path, mark: Path, number: int, times: int = 1
) -> tuple[int, str]:
    """Start the command, send it the signal once its benchmark runs, and return its status and its complaints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "photometer", *words],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 120
    while not mark.exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    started = descendants(process.pid)
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.02)
    _, told = process.communicate(timeout=60)
    assert mark.exists(), told
    assert gone_within(started, 10.0), "processes were left behind"
    assert "Traceback" not in told
    return process.returncode, told


@pytest.mark.parametrize(("number", "status"), SIGNALS)
def test_run_keeps_its_results(number: int, status: int, tmp_path: Path, suite: str, scratch: Path, mark: Path) -> None:
    words = ["run", suite, "--no-instructions", "--min-run-time", "0.05", "--cores", "0", "-o", "out"]
    ended, told = stop_amid(words, tmp_path, scratch, mark, number)
    assert ended == status, told
    assert "--resume continues" in told
    assert "stopped" in told
    kept = (tmp_path / "out" / JOURNAL_NAME).read_text().splitlines()
    assert len({json.loads(line)["order"] for line in kept}) >= 1


def test_a_second_signal_does_not_stop_the_tidying(tmp_path: Path, suite: str, scratch: Path, mark: Path) -> None:
    words = ["run", suite, "--no-instructions", "--min-run-time", "0.05", "-o", "out"]
    ended, told = stop_amid(words, tmp_path, scratch, mark, signal.SIGTERM, times=5)
    assert ended == 143, told


@pytest.mark.parametrize(("number", "status"), SIGNALS[:2])
@pytest.mark.parametrize("command", ["check", "compare", "fuzz", pytest.param("flame", marks=pytest.mark.pyspy)])
def test_the_other_commands_leave_nothing(
    command: str, number: int, status: int, tmp_path: Path, suite: str, scratch: Path, mark: Path
) -> None:
    touch = f"import pathlib, time; pathlib.Path({str(mark)!r}).touch()"
    words = {
        "check": ["check", suite],
        "compare": ["compare", "current", "env:A=1", "--suite", suite, "-o", "out", "--no-instructions"],
        "fuzz": ["fuzz", "time.sleep(0.01)", "--fuzzer", "unary", "-s", touch, "-o", "fuzz.json"],
        "flame": ["flame", "time.sleep(0.01)", "-s", touch, "--duration", "60"],
    }[command]
    ended, told = stop_amid(words, tmp_path, scratch, mark, number)
    assert ended == status, told
    assert f"stopped by {signal.Signals(number).name}" in told


@pytest.fixture
def handlers() -> Iterator[None]:
    """Put back what the test changes: a process that got a signal is expected to end."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    # Tests under nohup inherit that it is ignored, which photometer respects.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("handlers")
def test_only_the_first_signal_raises() -> None:
    with ending_by_signals() as ending:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
    # While the process ends, too.
    signal.raise_signal(signal.SIGTERM)
    assert (ending.status, ending.words) == (129, "stopped by SIGHUP")
    assert Ending().status == 130


@pytest.mark.usefixtures("handlers")
def test_without_a_signal_all_is_as_before() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with ending_by_signals():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.usefixtures("handlers")
def test_a_signal_that_is_ignored_stays_so() -> None:
    """`nohup` starts us so."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with ending_by_signals() as ending:
        signal.raise_signal(signal.SIGHUP)
    assert ending.signal is None
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
