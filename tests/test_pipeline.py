"""Two runs into one folder: the second is refused, and nothing of the first is lost."""

from __future__ import annotations

import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from photometer.model.results_folder import LOCK_NAME
from photometer.model.results_reader import load_results
from tests.photometer_command import COMMAND

SUITE = """
from photometer import TimerArgs
BENCHMARKS = {"quick": TimerArgs("pass"), "waits": TimerArgs("pass", setup="import time; time.sleep(SECONDS)")}
"""


def command(folder: Path, seconds: float) -> list[str]:
    suite = folder / "suite.py"
    suite.write_text(SUITE.replace("SECONDS", str(seconds)))
    options = ["--no-instructions", "--min-run-time", "0.01", "-o", str(folder / "out")]
    return [*COMMAND, "run", str(suite), *options]


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    while not path.exists():
        assert process.poll() is None
        time.sleep(0.02)


@pytest.mark.slow
def test_two_runs_at_once_into_one_folder(tmp_path: Path) -> None:
    out = tmp_path / "out"
    # Longer than the second takes to be refused.
    with subprocess.Popen(command(tmp_path, 500), text=True, stdout=subprocess.DEVNULL) as first:
        wait_for(out / "results.json", first)
        second = subprocess.run(command(tmp_path, 0), capture_output=True, text=True, check=False)
        first.send_signal(signal.SIGKILL)
    assert second.returncode == 1
    assert f"process {first.pid}, since " in " ".join(second.stderr.split())
    assert "Traceback" not in second.stderr
    # The first was killed, so its lock is free; what it had measured is kept under another name.
    assert (out / LOCK_NAME).exists()
    third = subprocess.run(command(tmp_path, 0), capture_output=True, text=True, check=False)
    assert third.returncode == 0, third.stderr
    measured = Counter(tuple(record["order"]["label"]) for record in load_results(out / "results.json").records)
    assert measured == {("quick",): 1, ("waits",): 1}
    assert len(list(out.glob("results-*.json"))) == 1
    assert not (out / LOCK_NAME).exists()
