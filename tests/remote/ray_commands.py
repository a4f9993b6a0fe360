"""photometer as a process of its own on a Ray cluster, and what is left of it: processes and temporary folders."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from photometer.model.results_reader import load_results

SUITE = """
from photometer import GroupedSetup, GroupedStmts

BENCHMARKS = {
    f"add {n}": GroupedStmts("y = x + 1", setup=GroupedSetup(f"x = torch.ones({n})")) for n in (2, 20, 200, 2000)
}
"""


@contextlib.contextmanager
def simulated_cluster(*cpus: int) -> Iterator[Any]:
    """Yield a cluster of this machine: a head without CPUs, and a node for each number of CPUs."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Ray gives a node 30 s to start, which was not enough on a machine with twenty programs for each core.
    os.environ["RAY_raylet_start_wait_time_s"] = "300"  # noqa: SIM112 - Ray spells it so
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        for count in cpus:
            cluster.add_node(num_cpus=count)
        yield cluster
    finally:
        import ray

        ray.shutdown()
        cluster.shutdown()


@dataclasses.dataclass(frozen=True)
class Surroundings:
    home: Path
    temporary: Path

    def folders(self) -> list[str]:
        """Return what is left of photometer's temporary folders, and of Ray's if photometer has started it."""
        return sorted(path.name for path in self.temporary.glob("photometer-*"))

    def measuring(self) -> list[int]:
        """Return the processes with this home that measure: commands, actors, servers and children."""
        found = []
        for pid, variables in self._processes():
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes()
                is_ours = b"ray::RayNode" in words or b"\0-m\0photometer\0" in words
                if is_ours or any(each.startswith(b"PHOTOMETER_PADDING=") for each in variables):
                    found.append(pid)
        return found

    def processes(self) -> list[int]:
        """Return all processes with this home, those of Ray itself included."""
        return [pid for pid, _ in self._processes()]

    def _processes(self) -> Iterator[tuple[int, list[bytes]]]:
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with contextlib.suppress(OSError):
                    variables = (entry / "environ").read_bytes().split(b"\0")
                    if f"HOME={self.home}".encode() in variables:
                        yield int(entry.name), variables


@contextlib.contextmanager
def own_surroundings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Surroundings]:
    """Give all that is started from now on a home and a folder for temporary files, by which it can be told."""
    # A short name: Ray makes sockets below it, whose names may have 107 characters.
    own = Surroundings(folder / "home", Path("/tmp") / f"p{secrets.token_hex(2)}")
    for each in (own.home, own.temporary):
        each.mkdir(mode=0o700)
    variables = {"HOME": own.home, "PHOTOMETER_CACHE": own.home / "cache", "TMPDIR": own.temporary}
    for name, value in variables.items():
        monkeypatch.setenv(name, str(value))
    try:
        yield own
    finally:
        shutil.rmtree(own.temporary, ignore_errors=True)


class Command:
    """`photometer WORDS` in a folder, with what it prints in a file: nobody reads a pipe of one that is killed."""

    def __init__(self, folder: Path, *words: str, **variables: str) -> None:
        self._printed = folder / "printed"
        with self._printed.open("w") as printed:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "photometer", *words],
                cwd=folder,
                env={**os.environ, **variables},
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        return self._printed.read_text()


def counts(results: Path) -> dict[str, list[Any]]:
    """Return the counts of each order, and fail if one was counted twice."""
    found: dict[str, list[Any]] = {}
    for record in load_results(results).records:
        if record["kind"] == "instruction_counts":
            assert record["order"]["id"] not in found
            found[record["order"]["id"]] = record["repeats"]
    return found
