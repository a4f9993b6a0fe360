"""Groups of ranks on two nodes of a real Ray cluster, both of them on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.model.results_reader import load_results
from photometer.model.run_figures import RankTimes
from tests.remote.ray_commands import Command, own_surroundings, simulated_cluster
from tests.waiting import PATIENCE_SECONDS, wait_until

pytest.importorskip("ray", reason="Ray is not installed: pip install photometer[ray]")

SUITE = """
from photometer import GroupedSetup, GroupedStmts

CHECK = "import os; assert os.environ['LOCAL_WORLD_SIZE'] == '1'; "
BENCHMARKS = {
    "reduce": GroupedStmts(
        "torch.distributed.all_reduce(x)",
        setup=GroupedSetup(CHECK + "x = torch.ones(1000)"),
        ranks=2,
        bytes=4000,
        collective="all_reduce",
    )
}
"""


@pytest.mark.slow
def test_ranks_on_two_nodes_are_one_group_and_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "suite.py").write_text(SUITE)
    with own_surroundings(tmp_path, monkeypatch) as own, simulated_cluster(1, 1) as cluster:
        monkeypatch.setenv("RAY_ADDRESS", cluster.address)
        words = ("run", "suite.py", "--on", "auto", "--ranks-per-node", "1", "--memory", "-o", "out")
        done = Command(tmp_path, *words)
        assert done.process.wait(PATIENCE_SECONDS) == 0, done.output
        loaded = load_results(tmp_path / "out" / "results.json")
        assert not [record for record in loaded.records if record["kind"] == "failure"], done.output
        (times,) = loaded.of(RankTimes)
        assert len(times.by_rank) == 2
        assert times.bus_bytes_per_second is not None
        nodes = {record["name"] for record in loaded.records if record["kind"] == "node"}
        measured = [record for record in loaded.records if record["kind"] in ("measurement", "rank_times")]
        assert len(measured) == 2
        assert all(set(record["nodes"]) == nodes for record in measured)
        assert len(nodes) == 2
        wait_until(lambda: not own.measuring(), found=own.measuring)
        assert own.folders() == []

        too_many = Command(tmp_path, *words[:-2], "-o", "other", "--nodes", "1")
        assert too_many.process.wait(PATIENCE_SECONDS) != 0
        assert "need 2 nodes that time and are not shared; there are 1" in " ".join(too_many.output.split())
