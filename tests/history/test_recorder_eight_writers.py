"""Eight writers at once, killed at random and started again: nothing is lost, nothing is there twice."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import Table, func, select

from photometer.history import schema
from photometer.history.store import Store, open_store

ROOT = Path(__file__).parents[2]
WRITERS = 8


def hammer(place: str, *, runs: int, records: int, kills: int) -> None:
    """Let eight writers work, kill some of them, and let all finish."""
    chance = random.Random(4711)
    open_store(place, create=True).close()

    def start(writer: int) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.history.writer_process", place, str(writer), str(runs), str(records)]
        return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    processes = [start(writer) for writer in range(WRITERS)]
    reported: list[set[str]] = [set() for _ in range(WRITERS)]
    for _ in range(kills):
        writer = chance.randrange(WRITERS)
        # Not before it has written something, else nothing would be tested.
        first = processes[writer].stdout.readline()  # type: ignore[union-attr]
        time.sleep(chance.uniform(0.0, 0.1))
        processes[writer].kill()
        rest, _ = processes[writer].communicate()
        lines = [first, *rest.splitlines(keepends=True)]
        reported[writer] |= {line.strip() for line in lines if line.endswith("\n") and line.strip()}
        processes[writer] = start(writer)
    for writer, process in enumerate(processes):
        output, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        reported[writer] |= set(output.split("\n")) - {""}
    with open_store(place) as store:
        check(store, runs, records)
        for writer, told in enumerate(reported):
            assert told <= _stored(store, writer, runs), "a record that was said to be written is lost"


def _stored(store: Store, writer: int, runs: int) -> set[str]:
    keys = {run.key: run.id for run in store.runs()}
    return {
        f"{run} {record['order']['id'].removeprefix('id-b')}"
        for run in range(runs)
        for record in store.records(keys[f"writer-{writer}-run-{run}"])
    }


def check(store: Store, runs: int, records: int) -> None:
    with store.engine.connect() as connection:

        def count(table: Table) -> int:
            return int(connection.scalar(select(func.count()).select_from(table)) or 0)

        assert count(schema.runs) == WRITERS * runs
        assert count(schema.results) == WRITERS * runs * records
        assert count(schema.benchmarks) == records
        # Instructions, all instructions, allocator calls.
        assert count(schema.points) == 3 * WRITERS * runs * records
        assert count(schema.contents) == records // 2 + WRITERS * (records - records // 2)
    assert all(run.is_complete and run.results == records for run in store.runs())
    for run in store.runs():
        assert [record["order"]["id"] for record in store.records(run.id)] == [f"id-b{n}" for n in range(records)]


@pytest.mark.slow
def test_eight_writers_into_postgresql_killed_at_random(postgresql_place: str) -> None:
    hammer(postgresql_place, runs=2, records=16, kills=4)


@pytest.mark.nightly
def test_eight_writers_for_longer(place: str) -> None:
    hammer(place, runs=10, records=60, kills=60)
