"""`--on ray://HOST:PORT`: a driver that is no part of the cluster, whose own code travels there."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from photometer.model.results_reader import load_results
from tests.remote.ray_commands import Command, Surroundings, own_surroundings
from tests.waiting import PATIENCE_SECONDS, wait_until

pytest.importorskip("ray", reason="Ray is not installed: pip install photometer[ray]")
pytest.importorskip("grpc", reason="Ray's client is not installed: pip install photometer[ray]")
pytestmark = pytest.mark.nightly

# On this machine the project's folder is there, too: what is measured is to be the copy that has travelled.
SUITE = """
from photometer import GroupedSetup, GroupedStmts

SETUP = '''
import layers
from layers import work

assert "_ray_pkg_" in layers.__file__, layers.__file__
'''
BENCHMARKS = {
    f"work {n}": GroupedStmts("work(x)", setup=GroupedSetup(f"{SETUP}x = torch.ones({n})")) for n in (2, 20, 200)
}
"""


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Surroundings]:
    with own_surroundings(tmp_path, monkeypatch) as found:
        yield found


@pytest.fixture
def address(own: Surroundings) -> Iterator[str]:
    """A head as `ray start --head` makes it, kept in the foreground so that it ends with its process."""
    client, head = free_port(), free_port()
    words = ["start", "--head", "--block", f"--port={head}", f"--ray-client-server-port={client}", "--num-cpus=2"]
    command = [
        sys.executable,
        "-m",
        "ray.scripts.scripts",
        *words,
        "--include-dashboard=false",
        "--disable-usage-stats",
    ]
    # The suite's folder is not the cluster's: what benchmarks import has to travel.
    command = [sys.executable, "-m", "ray.scripts.scripts", *words]
    running = subprocess.Popen(command, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: _listens(client))
        yield f"ray://127.0.0.1:{client}"
    finally:
        running.terminate()
        running.wait(30)
        wait_until(lambda: not own.processes(), found=own.processes)


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def test_a_run_from_outside_brings_its_code_and_leaves_the_cluster_as_it_was(
    tmp_path: Path, own: Surroundings, address: str
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "suite.py").write_text(SUITE)
    (project / "layers.py").write_text("def work(x):\n    return x + 1\n")
    words = ["run", "suite.py", "--no-instructions", "--min-run-time", "0.02", "-o", str(tmp_path / "out")]
    done = Command(project, *words, "--on", address)
    assert done.process.wait(PATIENCE_SECONDS) == 0, done.output
    loaded = load_results(tmp_path / "out" / "results.json")
    assert len(loaded.measurements) == 3
    assert [record for record in loaded.records if record["kind"] == "node"]
    wait_until(lambda: not own.measuring(), found=own.measuring)
    assert own.folders() == []
    # The cluster goes on: a second command finds it free.
    again = Command(project, *words[:-1], str(tmp_path / "again"), "--on", address)
    assert again.process.wait(PATIENCE_SECONDS) == 0, again.output


def test_no_cluster_there_is_an_error_with_a_remedy(tmp_path: Path, own: Surroundings) -> None:
    (tmp_path / "suite.py").write_text("from photometer import TimerArgs\nBENCHMARKS = {'a': TimerArgs('1')}\n")
    done = Command(tmp_path, "run", "suite.py", "--on", f"ray://127.0.0.1:{free_port()}")
    assert done.process.wait(PATIENCE_SECONDS) == 1
    assert "no Ray cluster at ray://" in done.output
    assert "ray start --head" in done.output
    assert "Traceback" not in done.output, os.linesep + done.output
