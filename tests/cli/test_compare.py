"""The command: what it refuses, what it prints, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from photometer.cli import main
from tests.photometer_command import photometer
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.warm

SUITE = """
import os
from photometer import TimerArgs
BENCHMARKS = {
    "sum": TimerArgs("sum(v)", "v = list(range(99))"),
    "env": TimerArgs("v + v", "import os\\nv = [1] * int(os.environ.get('SIZE', '1'))"),
    "bad": TimerArgs("1 / n", "import os\\nn = int(os.environ.get('N', '1'))"),
}
"""


@pytest.fixture
def suite(tmp_path: Path) -> str:
    (tmp_path / "suite.py").write_text(SUITE)
    return str(tmp_path / "suite.py")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return photometer("compare", *arguments)


@pytest.mark.lengthy
@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["current"], 2, "give BASE and BRANCH"),
        (["current", "current", "--resume", "--suite", "standard"], 2, "give that folder"),
        (["current", "current"], 1, "no suite is given"),
        (["current", "nowhere", "--suite", "standard"], 1, "names no environment"),
        (["current", "current", "--suite", "standard", "-k", "nothing_like_this"], 5, "Nothing ran"),
        (["current", "current", "--suite", "standard", "--budget", "0"], 2, "more than 0"),
        (["current", "current", "--suite", "standard", "--fdr", "2"], 2, "give a share such as"),
        (["current", "--calibrate"], 2, "--calibrate is now a command: photometer calibrate"),
        (["current", "current", "--suite", "standard", "--fail-on", "slower:5"], 2, "Write 5% for per cent"),
        (["current", "current", "--suite", "standard", "--fail-on", "memory:0", "--no-memory"], 2, "is not measured"),
    ],
)
def test_usage(arguments: list[str], status: int, told: str) -> None:
    done = run(*arguments)
    assert done.returncode == status, done.stdout + done.stderr
    assert told in " ".join((done.stdout + done.stderr).split())


@pytest.mark.slow
def test_another_setting_is_slower_and_a_failure_is_told_by_its_side(suite: str) -> None:
    done = run(
        "current",
        "env:SIZE=500 + env:N=0",
        "--suite",
        suite,
        "-k",
        "env or bad",
        "--no-instructions",
        "--layouts",
        "1",
        "--no-memory",
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stdout.startswith("The branch is slower. 1 slower, 1 failed.")
    assert "failed on the branch side: bad: ZeroDivisionError" in done.stdout


@pytest.mark.slow
def test_json_has_a_verdict_a_benchmark(suite: str) -> None:
    done = run(
        *("current", "current", "--suite", suite, "-k", "sum", "--no-instructions", "--json"),
        *("--margin", "0.5", "--layouts", "1", "--no-memory", "--budget", "60"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (record,) = json.loads(done.stdout)
    assert (record["title"], record["verdict"]["verdict"]) == ("sum", "same")


@pytest.mark.nightly
def test_a_terminated_comparison_resumes(suite: str, tmp_path: Path) -> None:
    sides = ("current", "current", "--suite", suite, "-k", "sum", "--no-instructions", "-o", str(tmp_path / "out"))
    command = [sys.executable, "-m", "photometer", "compare", *sides, "--margin", "0.00001", "--budget", "1000"]
    file = tmp_path / "out" / "comparison.json"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: file.exists() and file.read_text().count("_replicate") >= 2)
        # Twice, as `timeout` does: the second one must not stop the tidying.
        process.send_signal(signal.SIGTERM)
        time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        # The second may also come when all is tidied and the interpreter is on its way out.
        assert process.wait(PATIENCE_SECONDS) in (143, -signal.SIGTERM)
    kept = file.read_text().count('"comparison_replicate"')
    assert kept >= 2
    done = run(*sides, "--resume", "--margin", "0.5")
    assert done.returncode == 0, done.stdout + done.stderr
    assert file.read_text().count('"comparison_replicate"') >= kept
    assert '"kind": "comparison"' in file.read_text()


TWO = ["current", "current", "--suite", "standard"]
THREE = ["current", "env:A=1", "env:A=2", "--suite", "standard"]


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        ([*TWO, "--nodes", "2"], 2, "--nodes needs --on"),
        ([*TWO, "--on", "ray", "--flame", "all"], 2, "--flame all cannot be used with --on"),
        ([*TWO, "--on", "10.0.0.1:6379"], 1, "is not a cluster"),
        (["current", "git:WORKTREE", "--suite", "standard", "--on", "ray"], 1, "a working tree cannot be sent"),
        (["results.json", "current", "--suite", "standard", "--on", "ray"], 1, "cannot be compared on a cluster"),
        ([*THREE, "--on", "10.0.0.1:6379"], 1, "is not a cluster"),
        ([*THREE, "--flame", "all"], 2, "--flame all is for two sides"),
        ([*THREE, "--resume"], 2, "give that folder"),
        ([*THREE, "--store", "nowhere.sqlite"], 1, "nowhere.sqlite: there is no history store"),
        ([*THREE, "--fail-on", "slower:5"], 2, "Write 5% for per cent"),
        (THREE[:3], 1, "no suite is given"),
        (["results.json", *THREE[:2]], 1, "only two results files can be compared at a time"),
    ],
)
def test_what_is_refused(
    arguments: list[str],
    status: int,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("results.json").write_text("{}")
    with pytest.raises(SystemExit) as ended:
        main(["compare", *arguments])
    printed = capsys.readouterr()
    assert ended.value.code == status, printed.err
    # The frame of a usage error breaks lines.
    words = " ".join((printed.out + printed.err).replace("│", " ").split())
    assert told in words
