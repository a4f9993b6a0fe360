"""A real run that is killed between rounds and continued: every visit before the kill is in the results."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from photometer.model.diagnosis import FEWEST_VISITS
from photometer.model.results_reader import load_results
from photometer.model.visit import JOURNAL_NAME
from photometer.stats.undisturbed import MOST_VISITS
from tests.photometer_command import COMMAND

SUITE = """
from photometer import TimerArgs

BENCHMARKS = {name: TimerArgs(f"y = x {name} 1", "x = torch.ones(8)") for name in "+-*/"}
"""


@pytest.mark.nightly
def test_a_killed_run_is_continued_with_all_of_its_visits(tmp_path: Path) -> None:
    (tmp_path / "suite.py").write_text(SUITE)
    folder = tmp_path / "results"
    options = ["run", "suite.py", "--no-instructions", "-q", "-o", str(folder)]
    command = [*COMMAND, *options]
    run = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = folder / JOURNAL_NAME
    end = time.monotonic() + 60
    while time.monotonic() < end and not (journal.exists() and journal.read_bytes().count(b"\n") >= 5):
        time.sleep(0.005)
    run.send_signal(signal.SIGKILL)
    run.wait()
    kept = [json.loads(line) for line in journal.read_text().splitlines()]
    assert len(kept) >= 5
    done = subprocess.run([*command, "--resume"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    measured = load_results(folder / "results.json").measurements
    assert len(measured) == 4
    # On a busy machine visits take long, and there are fewer.
    assert all(FEWEST_VISITS <= len(m.visits) <= MOST_VISITS for m in measured)
    assert not journal.exists()
    blocks = {time for m in measured for time in m.raw_times}
    for entry in kept:
        assert blocks.issuperset(entry["visit"]["block_seconds"])
