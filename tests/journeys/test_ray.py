"""Real Ray and real measurements: the one test of them that every run of the tests has, as docs/ray.md shows it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from photometer.model.results_reader import load_results
from tests.remote.ray_commands import Command, own_surroundings
from tests.waiting import PATIENCE_SECONDS, wait_until

pytest.importorskip("ray", reason="Ray is not installed: pip install photometer[ray]")

PAGE = Path(__file__).parents[2] / "docs" / "ray.md"


@pytest.mark.slow
def test_a_run_measures_all_says_where_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (words,) = re.findall(r"^\$ photometer (run .* --on ray)$", PAGE.read_text(), re.MULTILINE)
    with own_surroundings(tmp_path, monkeypatch) as own:
        done = Command(tmp_path, *shlex.split(words))
        assert done.process.wait(PATIENCE_SECONDS) == 0, done.output
        loaded = load_results(tmp_path / "photometer-results" / "standard" / "results.json")
        (node,) = {record["name"] for record in loaded.records if record["kind"] == "node"}
        assert len(loaded.measurements) >= 2
        assert all(record["nodes"] == [node] for record in loaded.records if record["kind"] == "measurement")
        wait_until(lambda: not own.processes(), found=own.processes)
        assert own.folders() == []
