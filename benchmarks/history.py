"""How a history store does with a million order results, in SQLite and in a real PostgreSQL.

    python -m benchmarks.history [--quick] [--only sqlite|postgresql]

It prints results stored per second, the time to read a benchmark's curve, and the time of `changes` over everything,
beside the aims. An order result is one record: half are times of 100 samples, half counts with their functions.
PostgreSQL runs in a temporary folder; it must be installed.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.history.postgresql_server import NoPostgreSQL, running_postgresql
from tests.history.records import counts, header, origin, times

from photometer.history.changes import Cause, changes_in
from photometer.history.store import Store, open_store

AIMS = {"ingest": "at least 5,000 / s", "curve": "under 100 ms", "changes": "under 30 s"}
SAMPLES = 100
# Changes of each benchmark over all commits, in instructions and time.
STEPS = 3
FUNCTIONS = {f"toy.c:function_{number} [/lib/libtoy.so]": 1000 - number for number in range(50)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="30,000 results")
    parser.add_argument("--only", choices=["sqlite", "postgresql"])
    options = parser.parse_args()
    benchmarks, commits = (250, 60) if options.quick else (500, 1000)
    print(f"{2 * benchmarks * commits:,} order results: {benchmarks} benchmarks x {commits} commits, time and counts")
    kinds = [options.only] if options.only else ["sqlite", "postgresql"]
    for kind in kinds:
        try:
            with place_for(kind) as place, open_store(place, create=True) as store:
                measure(kind, store, benchmarks, commits)
        except NoPostgreSQL as reason:
            print(f"{kind}: not measured, {reason}")


@contextlib.contextmanager
def place_for(kind: str) -> Iterator[str]:
    if kind == "postgresql":
        with running_postgresql(durable=True) as url:
            yield url
        return
    with tempfile.TemporaryDirectory() as folder:
        yield str(Path(folder) / "history.sqlite")


def measure(kind: str, store: Store, benchmarks: int, commits: int) -> None:
    stored, seconds, cpu_seconds = 0, 0.0, 0.0
    for number in range(commits):
        records = records_of(number, benchmarks, level=number * (STEPS + 1) // commits)
        begin, cpu_begin = time.perf_counter(), time.process_time()
        stored += store.add_run(header(f"run-{number}"), records, origin(number)).new
        seconds += time.perf_counter() - begin
        cpu_seconds += time.process_time() - cpu_begin
    assert stored == 2 * benchmarks * commits
    busy = f"per second of this process's CPU: {stored / cpu_seconds:,.0f}"
    print(f"{kind:10}  stored per second      {stored / seconds:10,.0f}   aim {AIMS['ingest']}; {busy}")
    wanted = random.Random(1).sample([each.id for each in store.benchmarks()], 20)
    taken = []
    for benchmark in wanted:
        begin = time.perf_counter()
        (curve,) = store.curves(benchmark, "instructions")
        taken.append(time.perf_counter() - begin)
        assert len(curve.points) == commits
    middle, worst = 1e3 * statistics.median(taken), 1e3 * max(taken)
    print(f"{kind:10}  a curve, ms            {middle:10,.1f}   aim {AIMS['curve']}; the slowest of 20 {worst:.1f}")
    begin = time.perf_counter()
    found = changes_in(store)
    seconds = time.perf_counter() - begin
    exact = sum(change.p is None for change in found)
    planted = benchmarks * STEPS
    explained = sum(change.p is not None and change.cause is Cause.CODE for change in found)
    print(f"{kind:10}  changes over all, s    {seconds:10,.1f}   aim {AIMS['changes']}")
    print(
        f"{kind:10}  found                  {exact:10,}   of {planted:,} steps in counts; "
        f"{explained:,} of as many in time, {len(found) - exact - explained:,} others"
    )
    assert exact == planted


def records_of(number: int, benchmarks: int, *, level: int) -> list[dict[str, Any]]:
    """Return what a run of one commit leaves; each `level` takes 5 % more."""
    records: list[dict[str, Any]] = []
    for index in range(benchmarks):
        name = f"benchmark-{index:04d}"
        instructions = 100_000 + index + 5_000 * level
        noise = random.Random(number * benchmarks + index).gauss(0.0, 0.01)
        records.append(times(name, 1e-6 * (1 + 0.05 * level) * (1 + noise), seed=number, samples=SAMPLES))
        records.append(counts(name, instructions, FUNCTIONS))
    return records


if __name__ == "__main__":
    main()
