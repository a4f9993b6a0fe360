"""Comparisons, histories and searches on a real Ray cluster, of a small repository with one change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from photometer.model.results_reader import load_results
from tests.photometer_command import status_of
from tests.remote.ray_commands import simulated_cluster
from tests.repositories import commit_files, make_repository

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install photometer[ray]")

SUITE = """
from photometer import GroupedSetup, GroupedStmts

BENCHMARKS = {
    "work": GroupedStmts("work(x)", setup=GroupedSetup("from layers import work\\nx = torch.ones(4)")),
    "add": GroupedStmts("x + 1", setup=GroupedSetup("x = torch.ones(4)")),
}
"""


@pytest.fixture
def commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Six commits; the fourth makes `work` do twice as much."""
    project = make_repository(tmp_path / "project")
    monkeypatch.chdir(project)
    (tmp_path / "suite.py").write_text(SUITE)
    code = "# {number}\n\n\ndef work(x):\n    for _ in range({rounds}):\n        x = x + 1\n"
    return [
        commit_files(project, {"layers.py": code.format(number=number, rounds=20 if number >= 3 else 10)})
        for number in range(6)
    ]


@pytest.fixture
def two_nodes() -> Iterator[Any]:
    with simulated_cluster(1, 1) as cluster:
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        yield cluster


@pytest.mark.nightly
@pytest.mark.valgrind
def test_history_and_bisect(
    commits: list[str], two_nodes: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite, store = str(tmp_path / "suite.py"), str(tmp_path / "history.db")
    words = [
        "history",
        "measure",
        f"git:{commits[0]}..{commits[-1]}",
        "--suite",
        suite,
        "--store",
        store,
        "--on",
        "auto",
    ]
    assert status_of(*words, "--no-wall", "--commits", "4") == 0
    files = list(Path("photometer-results/history").glob("*/results.json"))
    assert len(files) == 4
    for file in files:
        records = load_results(file).records
        assert {record["kind"] for record in records} == {"node", "instruction_counts"}
    assert status_of(*words, "--no-wall", "--commits", "4") == 0
    assert "all commits are stored already" in capsys.readouterr().err
    assert status_of("bisect", commits[0], commits[-1], "--suite", suite, "--on", "auto", "-k", "work") == 0
    assert f"{commits[3]} is the first commit that changed instructions" in capsys.readouterr().out


@pytest.mark.nightly
@pytest.mark.valgrind
def test_compare(commits: list[str], two_nodes: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sides = [f"git:{commits[2]}", f"git:{commits[3]}"]
    suite = str(tmp_path / "suite.py")
    assert status_of("compare", *sides, "--suite", suite, "--on", "auto", "-o", "out", "--budget", "10") == 3
    shown = capsys.readouterr().out
    assert "slower" in shown
    kinds = {record["kind"] for record in load_results(Path("out/comparison.json")).records}
    assert {"node", "comparison"} <= kinds
