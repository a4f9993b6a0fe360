"""Real Ray and real measurements: what is counted on nodes is what is counted here, whatever dies meanwhile."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from photometer.execution.observer import NullObserver
from photometer.execution.run_settings import RunSettings
from photometer.model.environment import Environment
from photometer.model.results_reader import load_results
from photometer.pipeline import run_suite
from photometer.remote.cluster import Cluster
from photometer.remote.node_actors import Wanted
from photometer.remote.ray_workplace import RayWorkplace
from photometer.session.session import Session

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install photometer[ray]")

SUITE = """
from photometer import GroupedSetup, GroupedStmts

BENCHMARKS = {
    f"add {n}": GroupedStmts("y = x + 1", setup=GroupedSetup(f"x = torch.ones({n})")) for n in (2, 20, 200, 2000)
}
"""


@pytest.fixture
def simulated() -> Iterator[Any]:
    from ray.cluster_utils import Cluster as Simulated

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    cluster = Simulated(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def on_cluster() -> Any:
    environment = Environment.current()
    with Session(environment) as session:
        wanted = Wanted(environment, session.facts())
    return lambda: RayWorkplace(Cluster("auto"), wanted)


def counts(results: Path) -> dict[str, list[Any]]:
    records = load_results(results).records
    return {record["order"]["id"]: record["repeats"] for record in records if record["kind"] == "instruction_counts"}


@pytest.mark.nightly
@pytest.mark.valgrind
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_nodes_that_die_change_nothing_of_the_standard_suite(simulated: Any, tmp_path: Path) -> None:
    nodes = [simulated.add_node(num_cpus=1) for _ in range(3)]
    ray.init(address=simulated.address, log_to_driver=False, logging_level="ERROR")
    settings = RunSettings(min_run_time=0.05, repeats=1, compiled=False)
    stop = threading.Event()

    def kill_at_random() -> None:
        source = random.Random(1)
        while not stop.wait(source.uniform(10, 25)):
            simulated.remove_node(nodes.pop(source.randrange(len(nodes))), allow_graceful=False)
            nodes.append(simulated.add_node(num_cpus=1))

    killer = threading.Thread(target=kill_at_random, daemon=True)
    killer.start()
    try:
        there = run_suite(
            "standard",
            tmp_path / "there",
            settings,
            expression="pointwise and not cpp",
            observer=NullObserver(),
            open_place=on_cluster(),
        )
    finally:
        stop.set()
        killer.join(60)
    assert there.results is not None
    assert not there.table.failures
    assert there.table.measured == there.table.orders
    here = run_suite(
        "standard",
        tmp_path / "here",
        RunSettings(wall=False, repeats=1),
        expression="pointwise and not cpp",
    )
    assert here.results is not None
    assert counts(there.results) == counts(here.results)


def command(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    (folder / "suite.py").write_text(SUITE)
    home = folder / "home"
    home.mkdir(exist_ok=True)
    # HOME is passed on to every server, so that what is left of this command can be told from all else.
    variables = {**os.environ, "HOME": str(home), "PHOTOMETER_CACHE": str(home / "cache")}
    words = [sys.executable, "-m", "photometer", "run", "suite.py", "--no-instructions", "--on", "ray", *arguments]
    return subprocess.Popen(words, cwd=folder, env=variables, text=True, stderr=subprocess.PIPE, start_new_session=True)


def left_of(folder: Path) -> list[int]:
    """Return the processes that have this folder as their home."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if f"HOME={folder / 'home'}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def wait_until(condition: Any, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.1)
    return False


def has_visits(folder: Path) -> bool:
    journal = folder / "photometer-results" / "suite" / "visits.jsonl"
    return journal.exists() and len(journal.read_text().splitlines()) >= 3


@pytest.mark.nightly
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_leaves_nothing_and_is_continued(how: signal.Signals, tmp_path: Path) -> None:
    running = command(tmp_path, "--min-run-time", "2")
    try:
        assert wait_until(lambda: has_visits(tmp_path) or running.poll() is not None, 60)
        running.send_signal(how)
        running.wait(30)
        assert wait_until(lambda: not left_of(tmp_path), 30), left_of(tmp_path)
    finally:
        running.kill()
    results = tmp_path / "photometer-results" / "suite" / "results.json"
    before = json.loads(results.read_text())["run"]["id"]
    again = command(tmp_path, "--min-run-time", "2", "--resume")
    assert again.wait(120) == 0
    loaded = load_results(results)
    assert loaded.header["run"]["id"] == before
    assert len(loaded.measurements) == 4
    assert {kind for record in loaded.records if (kind := record["kind"]) == "node"}


@pytest.mark.slow
def test_a_run_on_ray_measures_all_and_says_where(tmp_path: Path) -> None:
    done = command(tmp_path, "--min-run-time", "0.02", "-o", "out")
    assert done.wait(120) == 0, done.stderr.read() if done.stderr else ""
    loaded = load_results(tmp_path / "out" / "results.json")
    (node,) = {record["name"] for record in loaded.records if record["kind"] == "node"}
    assert len(loaded.measurements) == 4
    assert all(record["nodes"] == [node] for record in loaded.records if record["kind"] == "measurement")
    assert wait_until(lambda: not left_of(tmp_path), 20)
