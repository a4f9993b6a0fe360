"""Real Ray and real measurements: the one test of them that every run of the tests has."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.model.results_reader import load_results
from tests.remote.ray_commands import SUITE, Command, own_surroundings, wait_until

pytest.importorskip("ray", reason="Ray is not installed: pip install photometer[ray]")


@pytest.mark.slow
def test_a_run_measures_all_says_where_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "suite.py").write_text(SUITE)
    words = ["run", "suite.py", "--no-instructions", "--on", "ray", "--min-run-time", "0.02", "-o", "out"]
    with own_surroundings(tmp_path, monkeypatch) as own:
        done = Command(tmp_path, *words)
        assert done.process.wait(120) == 0, done.output
        loaded = load_results(tmp_path / "out" / "results.json")
        (node,) = {record["name"] for record in loaded.records if record["kind"] == "node"}
        assert len(loaded.measurements) == 4
        assert all(record["nodes"] == [node] for record in loaded.records if record["kind"] == "measurement")
        assert wait_until(lambda: not own.processes(), 20), own.processes()
        assert own.folders() == []
