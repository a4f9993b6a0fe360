"""Signals end every command as Ctrl-C does: results are kept, and no process and no folder is left. Real processes."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from photometer.cli import ending as endings
from photometer.cli.ending import Ending, ending_by_signals, giving_up_after, limited
from photometer.comparing.comparison_file import FILE_NAME
from photometer.errors import WorkerTimeout
from photometer.model.results_reader import load_results
from photometer.model.visit import JOURNAL_NAME
from tests.cli.test_run import descendants
from tests.waiting import PATIENCE_SECONDS, killed_at_last, wait_until, wait_until_gone

pytestmark = pytest.mark.lengthy

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
# They are handled alike, so one is tried before a commit; Ctrl-C with `ab --json`, and in tests/cli/test_run.py.
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


@dataclasses.dataclass(frozen=True)
class Stopped:
    """How a command ended: its status, what it complained of, and what it printed."""

    status: int
    told: str
    printed: str


def stop_amid(
    words: list[str], folder: Path, scratch: Path, mark: Path, number: int, times: int = 1
) -> tuple[int, str]:
    """Start the command, send it the signal once its benchmark runs, and return its status and its complaints."""
    ended = stopped_amid(words, folder, scratch, mark, number, times)
    return ended.status, ended.told


def stopped_amid(words: list[str], folder: Path, scratch: Path, mark: Path, number: int, times: int = 1) -> Stopped:
    process = subprocess.Popen(
        [sys.executable, "-m", "photometer", *words],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with killed_at_last(process):
        wait_until(lambda: mark.exists() or process.poll() is not None)
        started = descendants(process.pid)
        for _ in range(times):
            process.send_signal(number)
            time.sleep(0.02)
        printed, told = process.communicate(timeout=PATIENCE_SECONDS)
    assert mark.exists(), told
    wait_until_gone(started)
    assert "Traceback" not in told
    return Stopped(process.returncode, told, printed)


@pytest.mark.parametrize(("number", "status"), SIGNALS)
def test_run_keeps_and_prints_its_results(
    number: int, status: int, tmp_path: Path, suite: str, scratch: Path, mark: Path
) -> None:
    words = ["run", suite, "--no-instructions", "--min-run-time", "0.05", "--cores", "0", "-o", "out"]
    ended = stopped_amid(words, tmp_path, scratch, mark, number)
    assert ended.status == status, ended.told
    assert "--resume continues" in ended.told
    assert "stopped" in ended.told
    # It prints what its visits say.
    assert "first" in ended.printed
    assert "visits are missing" in ended.printed
    kept = (tmp_path / "out" / JOURNAL_NAME).read_text().splitlines()
    assert len({json.loads(line)["order"] for line in kept}) >= 1


# Each process that is measured leaves a letter; after some, the signal comes.
COUNTED_SETUP = (
    "import pathlib; x = torch.ones(3); letters = pathlib.Path({letters!r}); file = letters.open('a'); "
    "file.write('x'); file.close(); letters.stat().st_size >= {most} and pathlib.Path({mark!r}).touch()"
)
# No margin is that narrow: it goes on until the signal comes.
ENDLESS = ["--budget", "600", "--margin", "0.0000001"]


def counted_setup(tmp_path: Path, mark: Path, most: int = 16) -> str:
    return COUNTED_SETUP.format(letters=str(tmp_path / "letters"), most=most, mark=str(mark))


@pytest.mark.parametrize(("number", "status"), [SIGNALS[0], SIGNALS[2]])
def test_ab_prints_and_keeps_what_is_known(number: int, status: int, tmp_path: Path, scratch: Path, mark: Path) -> None:
    words = ["ab", "x + 1", "x + 2", "-s", counted_setup(tmp_path, mark), *ENDLESS, "-o", "kept"]
    ended = stopped_amid(words, tmp_path, scratch, mark, number)
    assert ended.status == status, ended.told
    assert "x + 2 against x + 1: " in ended.printed
    assert "replicates" in ended.printed
    [ranking] = load_results(tmp_path / "kept" / "results.json").records
    assert ranking["kind"] == "ranking"
    assert len(ranking["statements"]) == 2


def test_the_document_of_a_stopped_ab_is_whole(tmp_path: Path, scratch: Path, mark: Path) -> None:
    words = ["ab", "x + 1", "x + 2", "-s", counted_setup(tmp_path, mark), *ENDLESS, "--json"]
    ended = stopped_amid(words, tmp_path, scratch, mark, signal.SIGINT)
    assert ended.status == 130, ended.told
    assert len(json.loads(ended.printed)["statements"]) == 2


@pytest.mark.parametrize(("number", "status"), [SIGNALS[0], SIGNALS[2]])
def test_compare_prints_and_keeps_what_is_known(
    number: int, status: int, tmp_path: Path, scratch: Path, mark: Path
) -> None:
    suite = tmp_path / "counted.py"
    setup = counted_setup(tmp_path, mark)
    suite.write_text(
        f"from photometer.definition import TimerArgs\nBENCHMARKS = {{'add': TimerArgs('x + 1', {setup!r})}}\n"
    )
    words = ["compare", "current", "env:A=1", "--suite", str(suite), "--no-instructions", "--no-memory", *ENDLESS]
    ended = stopped_amid([*words, "-o", "out", "--junit", "junit.xml"], tmp_path, scratch, mark, number)
    assert ended.status == status, ended.told
    assert "stopped early" in ended.printed
    assert "add" in ended.printed
    assert "add" in (tmp_path / "out" / "comparison.md").read_text()
    assert "add" in (tmp_path / "junit.xml").read_text()
    kept = load_results(tmp_path / "out" / FILE_NAME).records
    assert "comparison" in {record["kind"] for record in kept}


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_time_prints_what_its_blocks_say(more: list[str], tmp_path: Path, scratch: Path, mark: Path) -> None:
    # The set-up runs before every block, those of the warm-up included.
    setup = counted_setup(tmp_path, mark, most=200)
    # A precision that no measurement has.
    words = ["time", "x + 1", "-s", setup, "--precision", "0.0000001", "--budget", "600", *more]
    ended = stopped_amid(words, tmp_path, scratch, mark, signal.SIGTERM)
    assert ended.status == 143, ended.told
    if more:
        assert json.loads(ended.printed)["kind"] == "measurement"
    else:
        assert "edian" in ended.printed


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
        "fuzz": ["fuzz", "time.sleep(0.01)", "--fuzzer", "unary", "-n", "5000", "-s", touch, "-o", "fuzz"],
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
def test_the_end_of_a_limit_comes_again_if_it_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[tuple[float, ...]] = []
    monkeypatch.setattr(signal, "setitimer", lambda *asked: timers.append(asked))
    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    try:
        with ending_by_signals() as ending, limited(7.0):
            # As an import of C++ may do with the first.
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGALRM)
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGALRM)
        assert timers == [(signal.ITIMER_REAL, 7.0, endings.REPEAT_SECONDS), (signal.ITIMER_REAL, 0.0)]
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGALRM, before)
    assert ending.is_limit


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


def test_a_statement_that_catches_everything_is_given_up() -> None:
    before = signal.getsignal(signal.SIGUSR1)

    def endless() -> None:
        while True:
            with contextlib.suppress(Exception):
                time.sleep(60)

    words = r"(?s)x\.sum\(\) took longer than 1 s.*--timeout"
    with pytest.raises(WorkerTimeout, match=words), giving_up_after(1.0, "x.sum()"):
        endless()
    assert signal.getsignal(signal.SIGUSR1) is before


def test_a_statement_that_ends_in_the_moment_its_time_is_up_is_given_up_in_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, cancel = signal.getsignal(signal.SIGUSR1), threading.Timer.cancel

    def too_late(timer: threading.Timer) -> None:
        cancel(timer)
        signal.raise_signal(signal.SIGUSR1)

    monkeypatch.setattr(threading.Timer, "cancel", too_late)
    with pytest.raises(WorkerTimeout, match="1 took longer"), giving_up_after(600.0, "1"):
        pass
    assert signal.getsignal(signal.SIGUSR1) is before


@pytest.mark.parametrize("seconds", [None, 60.0])
def test_a_statement_that_ends_in_time_is_left_alone(seconds: float | None) -> None:
    before, threads = signal.getsignal(signal.SIGUSR1), set(threading.enumerate())
    with giving_up_after(seconds, "1"):
        pass
    with pytest.raises(KeyError), giving_up_after(seconds, "1"):
        raise KeyError
    assert signal.getsignal(signal.SIGUSR1) is before
    wait_until(lambda: threads.issuperset(threading.enumerate()))
