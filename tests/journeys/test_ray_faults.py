"""Real Ray, real measurements, real deaths: of nodes at random, of the driver by SIGKILL, of all by Ctrl-C.

Nightly. `pytest -m nightly tests/journeys/test_ray_faults.py -k standard` alone takes five minutes on two cores.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from photometer.execution.observer import NullObserver
from photometer.execution.run_settings import RunSettings
from photometer.model.machine import Environment
from photometer.model.results_reader import load_results
from photometer.pipeline import run_suite
from photometer.remote.cluster import Cluster
from photometer.remote.node_actors import Wanted
from photometer.remote.ray_workplace import RayWorkplace
from photometer.session.session import Session
from tests.remote.ray_commands import (
    SUITE,
    Command,
    Surroundings,
    counts,
    own_surroundings,
    simulated_cluster,
)
from tests.waiting import PATIENCE_SECONDS, wait_until

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install photometer[ray]")
pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("ignore::ResourceWarning")]

# Of three nodes; one that comes needs half a minute to start counting.
SECONDS_BETWEEN_DEATHS = (50.0, 80.0)
# All orders of the standard suite but those of C++, which would have to be compiled: twenty minutes on two cores.
PYTHON_HALF = "not cpp"
INTERRUPTED, TERMINATED = 130, 143


@pytest.mark.valgrind
def test_nodes_that_die_change_nothing_of_the_standard_suite(tmp_path: Path) -> None:
    remarks: list[str] = []
    source = random.Random(1)
    with simulated_cluster() as simulated, ThreadPoolExecutor(1) as thread:
        nodes = [simulated.add_node(num_cpus=1) for _ in range(3)]
        ray.init(address=simulated.address, log_to_driver=False, logging_level="ERROR")
        environment = Environment.current()
        with Session(environment) as session:
            wanted = Wanted(environment, session.facts())
        # Ray adds nodes in the main thread only.
        running = thread.submit(
            run_suite,
            "standard",
            tmp_path / "there",
            RunSettings(min_run_time=0.01, repeats=1, compiled=False),
            expression=PYTHON_HALF,
            observer=NullObserver(),
            open_place=lambda: RayWorkplace(Cluster("auto"), wanted, remarks.append),
        )
        while not wait([running], source.uniform(*SECONDS_BETWEEN_DEATHS)).done:
            simulated.remove_node(nodes.pop(source.randrange(len(nodes))), allow_graceful=False)
            nodes.append(simulated.add_node(num_cpus=1))
        there = running.result()
    assert there.results is not None
    assert not there.table.failures
    assert there.table.measured == there.table.orders
    deaths = [remark for remark in remarks if "is gone; its work is done elsewhere" in remark]
    assert len(deaths) >= 2, remarks
    used = {node for record in load_results(there.results).records for node in record.get("nodes", ())}
    assert len(used) > 3, "nodes that came later were used"
    settings = RunSettings(options={"wall": False}, repeats=1)
    here = run_suite("standard", tmp_path / "here", settings, expression=PYTHON_HALF)
    assert here.results is not None
    counted, expected = counts(there.results), counts(here.results)
    assert len(counted) == len(there.plan)
    # Which of two threads waits for the other is chance, and so are some instructions of it.
    single = [order for order in there.plan if order.args.num_threads == 1]
    assert len(single) > 70
    assert [order.title for order in single if counted[order.id] != expected[order.id]] == []
    timed = [record["order"]["id"] for record in load_results(there.results).records if record["kind"] == "measurement"]
    assert len(timed) == len(set(timed)) == len(there.plan)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Surroundings]:
    with own_surroundings(tmp_path, monkeypatch) as found:
        yield found


@pytest.mark.valgrind
def test_a_driver_that_is_killed_and_resumed_counts_nothing_twice(tmp_path: Path, own: Surroundings) -> None:
    (tmp_path / "suite.py").write_text(SUITE.replace("(2, 20, 200, 2000)", "range(2, 26)"))
    results = tmp_path / "out" / "results.json"
    words = ["run", "suite.py", "--no-wall", "--on", "auto", "-o", "out"]
    with simulated_cluster(1, 1) as simulated:
        first = Command(tmp_path, *words, RAY_ADDRESS=simulated.address)
        wait_until(lambda: _has_counts(results, 3) or first.process.poll() is not None)
        first.process.kill()
        first.process.wait(PATIENCE_SECONDS)
        wait_until(lambda: not own.measuring())
        before = load_results(results, recover=True).records
        assert len(before) < 24
        again = Command(tmp_path, *words, "--resume", RAY_ADDRESS=simulated.address)
        assert again.process.wait(900) == 0, again.output
        wait_until(lambda: not own.measuring())
        assert own.folders() == []
    after = load_results(results).records
    assert after[: len(before)] == before
    assert len(counts(results)) == 24


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_leaves_nothing_and_is_continued(how: signal.Signals, tmp_path: Path, own: Surroundings) -> None:
    (tmp_path / "suite.py").write_text(SUITE)
    folder = tmp_path / "photometer-results" / "suite"
    words = ["run", "suite.py", "--no-instructions", "--on", "ray", "--min-run-time", "2"]
    running = Command(tmp_path, *words)
    try:
        wait_until(lambda: _has_visits(folder) or running.process.poll() is not None)
        running.process.send_signal(how)
        running.process.wait(PATIENCE_SECONDS)
        wait_until(lambda: not own.measuring(), found=own.measuring)
        # Two helpers of Ray's own notice after a minute that their driver was killed.
        wait_until(lambda: not own.processes(), found=own.processes)
        if how is signal.SIGINT:
            assert own.folders() == []
    finally:
        running.process.kill()
    before = json.loads((folder / "results.json").read_text())["run"]["id"]
    again = Command(tmp_path, *words, "--resume")
    assert again.process.wait(PATIENCE_SECONDS) == 0, again.output
    assert own.folders() == [], "what the killed one has left is removed by the next"
    loaded = load_results(folder / "results.json")
    assert loaded.header["run"]["id"] == before
    timed = [record["order"]["id"] for record in loaded.records if record["kind"] == "measurement"]
    assert len(timed) == len(set(timed)) == 4


@pytest.mark.valgrind
def test_ctrl_c_of_a_comparison_leaves_nothing(tmp_path: Path, own: Surroundings) -> None:
    (tmp_path / "suite.py").write_text(SUITE)
    with simulated_cluster(1) as simulated:
        words = ["compare", "current", "current", "--suite", "suite.py", "--on", "auto"]
        running = Command(tmp_path, *words, RAY_ADDRESS=simulated.address)
        wait_until(lambda: any("-compare-" in each for each in own.folders()) or running.process.poll())
        running.process.send_signal(signal.SIGINT)
        assert running.process.wait(PATIENCE_SECONDS) == INTERRUPTED, running.output
        wait_until(lambda: not own.measuring(), found=own.measuring)
        assert own.folders() == []


# The command, with a SIGTERM as soon as Ray's own handlers are there, and before photometer restores its own.
TERMINATED_WHILE_RAY_STARTS = """
import os, signal, sys
from photometer import cli
from photometer.remote import cluster

ray = cluster.import_ray()
start = ray.init

def start_and_terminate(**options):
    start(**options)
    os.kill(os.getpid(), signal.SIGTERM)

ray.init = start_and_terminate
cli.main(sys.argv[1:])
"""


def test_sigterm_while_ray_starts_ends_the_run_in_words(tmp_path: Path, own: Surroundings) -> None:
    (tmp_path / "suite.py").write_text(SUITE)
    words = [sys.executable, "-c", TERMINATED_WHILE_RAY_STARTS, "run", "suite.py", "--on", "ray"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == TERMINATED, done.stderr
    assert done.stderr.endswith("photometer: stopped by SIGTERM\n")
    assert "***" not in done.stderr, "a stack of C++"
    wait_until(lambda: not own.processes(), found=own.processes)
    assert own.folders() == []


def _has_counts(results: Path, count: int) -> bool:
    return results.exists() and results.read_bytes().count(b'"instruction_counts"') >= count


def _has_visits(folder: Path) -> bool:
    journal = folder / "visits.jsonl"
    return journal.exists() and len(journal.read_text().splitlines()) >= 3
