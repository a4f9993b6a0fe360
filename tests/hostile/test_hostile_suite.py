"""Sixty misbehaving benchmarks among sixty good ones: all good results are there, and nothing is left behind."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from photometer.model.results_reader import load_results
from tests.hostile.benchmarks import FAILING, GOOD, MISBEHAVING, SUCCEEDING
from tests.photometer_command import photometer
from tests.waiting import wait_until

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
# How long the programs sleep that benchmarks of this process start: tests in other processes start some, too.
SLEEP = f"401.{os.getpid()}"


def run(tmp_path: Path, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "hostile.py").write_text(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{text}")
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    return photometer(*words, cwd=tmp_path, TMPDIR=str(scratch))


def assert_nothing_is_left(tmp_path: Path) -> None:
    """A process that was ended may still be on its way out, above all on a busy machine."""
    wait_until(lambda: not what_is_left(tmp_path), found=lambda: what_is_left(tmp_path))


def what_is_left(tmp_path: Path) -> list[str]:
    """Return the temporary folders, the processes that name one of our files, and the programs that were started."""
    commands = [_command(process) for process in Path("/proc").iterdir() if process.name.isdigit()]
    return [
        *(path.name for path in (tmp_path / "scratch").iterdir()),
        *(command for command in commands if str(tmp_path) in command or command.startswith(f"sleep {SLEEP}")),
    ]


def _command(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def test_there_are_enough_of_them() -> None:
    assert len(MISBEHAVING) >= 60
    assert len(GOOD) >= 60


# One of each kind of harm, and of those that only look like it. A server that is killed, which takes Valgrind a quarter
# of a minute to replace, is in the comparison below.
SOME = (
    *("zero division", "syntax in setup", "memory of a tensor", "segmentation fault", "exit 3", "killed"),
    *("leaves a program", "leaves a fork", "leaves a session"),
)


@pytest.mark.valgrind
@pytest.mark.parametrize(
    ("bad", "good", "timeout"),
    [
        # None of them hangs. With the server that other tests count with; all of them with one of their own.
        pytest.param(SOME, GOOD[:6], 300, id="some", marks=pytest.mark.warm),
        pytest.param(tuple(MISBEHAVING), GOOD, 20, id="all", marks=pytest.mark.nightly),
    ],
)
def test_a_run_of_them_keeps_every_good_result(
    tmp_path: Path, bad: tuple[str, ...], good: list[str], timeout: int
) -> None:
    text = (
        "from tests.hostile.benchmarks import MISBEHAVING, suite\n"
        f"bad = {{name: MISBEHAVING[name] for name in {bad!r}}}\n"
        f"everything = suite(bad, {SLEEP!r})\n"
        f"BENCHMARKS = {{name: everything[name] for name in everything if name in bad or name in {good!r}}}\n"
    )
    limits = ("--timeout", str(timeout), "--min-run-time", "0.01", "--repeats", "1")
    done = run(tmp_path, text, "run", "hostile.py", "-o", "out", *limits)
    assert done.returncode == 1, done.stderr
    # A traceback of the user's code is welcome; one of ours is not.
    assert "photometer/cli" not in done.stderr
    records = load_results(tmp_path / "out" / "results.json").records
    by_kind = {
        kind: [record["order"]["label"][-1] for record in records if record["kind"] == kind]
        for kind in ("measurement", "instruction_counts", "failure")
    }
    assert sorted(set(good) & set(by_kind["measurement"])) == good
    assert sorted(set(good) & set(by_kind["instruction_counts"])) == good
    for kind, labels in by_kind.items():
        assert len(set(labels)) == len(labels), kind
    # Whatever harms its own measurement is a failure of that benchmark, and of no other.
    assert set(by_kind["failure"]) >= set(FAILING) & set(bad)
    assert set(by_kind["failure"]) <= set(bad)
    assert set(SUCCEEDING) & set(bad) <= set(by_kind["measurement"])
    left = {
        record["order"]["label"][-1]: record["conditions"].get("left_processes", 0)
        for record in records
        if record["kind"] == "measurement"
    }
    assert {name for name, count in left.items() if count} >= {"leaves a program", "leaves a fork", "leaves a session"}
    assert_nothing_is_left(tmp_path)


def test_a_comparison_of_some_of_them_judges_every_good_one(tmp_path: Path) -> None:
    chosen = (
        "from tests.hostile.benchmarks import CRASHING, GOOD, SUCCEEDING, suite\n"
        "names = ('kills the server', 'terminates the server', 'writes garbage everywhere', 'signal 40', 'abort')\n"
        "bad = {name: CRASHING[name] for name in names}\n"
        "bad |= {name: SUCCEEDING[name] for name in ('leaves a program', 'clock of nan', 'fork that comes back')}\n"
        f"everything = suite(bad, {SLEEP!r})\n"
        "BENCHMARKS = {name: everything[name] for name in [*bad, *GOOD[:6]]}\n"
    )
    done = run(
        tmp_path,
        chosen,
        *("compare", "current", "current", "--suite", "hostile.py", "-o", "out", "--no-instructions"),
        *("--budget", "12", "--layouts", "1", "--margin", "0.5", "--flame", "none"),
    )
    assert "Traceback" not in done.stderr
    records = load_results(tmp_path / "out" / "comparison.json").records
    verdicts = {r["title"]: r["verdict"]["verdict"] for r in records if r["kind"] == "comparison"}
    assert set(GOOD[:6]) <= set(verdicts)
    assert not {"slower", "faster"} & set(verdicts.values())
    failed = {record["title"] for record in records if record["kind"] == "comparison_failure"}
    assert failed >= {"kills the server", "terminates the server", "signal 40", "abort"}
    assert done.returncode == 1, done.stderr
    assert_nothing_is_left(tmp_path)
