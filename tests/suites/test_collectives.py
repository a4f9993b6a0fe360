"""The suite of collectives: its groups, and that a small one runs from the definition to the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from photometer.suites import load_suite, materialize
from tests.photometer_command import photometer


def test_every_collective_has_its_bandwidth_over_the_size_of_the_message() -> None:
    plan = materialize(load_suite("collectives"), available_devices=["cpu"])
    swept = [order for order in plan if order.label[0] == "collectives"]
    assert {order.label[1] for order in swept} == {"all_reduce", "all_gather", "broadcast", "all_to_all"}
    assert {order.auto.ranks for order in swept} == {2, 4}
    for order in swept:
        assert order.figures is not None
        assert order.figures.collective == order.label[1]
        assert order.figures.bytes == dict(order.auto.sizes)["nbytes"]
        assert not order.counts_instructions


def test_a_group_needs_a_device_for_each_rank() -> None:
    two_cards = ["cpu", "cuda", "cuda:0", "cuda:1"]
    plan = materialize(load_suite("collectives"), available_devices=two_cards)
    assert {order.auto.ranks for order in plan if order.auto.device == "cuda"} == {2}


@pytest.mark.slow
@pytest.mark.warm
def test_a_run_has_ranks_rates_and_curves(tmp_path: Path) -> None:
    suite = tmp_path / "sweep.py"
    suite.write_text(
        "from photometer import GroupedSetup, GroupedStmts\n"
        "BENCHMARKS = {'all_reduce': GroupedStmts('torch.distributed.all_reduce(x)',\n"
        "    setup=GroupedSetup('x = torch.rand(n)'), ranks=2, sizes={'n': (16, 256, 4096)}, bytes='4 * n',\n"
        "    collective='all_reduce')}\n"
    )
    ran = photometer("run", str(suite), "-o", str(tmp_path / "out"), "--min-run-time", "0.02")
    assert ran.returncode == 0, ran.stderr
    assert "Ranks" in ran.stdout
    assert "all_reduce [2 ranks, n=16]" in ran.stdout
    records = json.loads((tmp_path / "out" / "results.json").read_text())["records"]
    taken = [record for record in records if record["kind"] == "rank_times"]
    assert len(taken) == 3
    assert all(len(record["seconds"]) == 2 and record["collective"] == "all_reduce" for record in taken)
    page = photometer("report", str(tmp_path / "out"), "-o", str(tmp_path / "page"))
    assert page.returncode == 0, page.stderr
    assert "bus bandwidth (GB/s) against n" in (tmp_path / "page" / "report.html").read_text()
