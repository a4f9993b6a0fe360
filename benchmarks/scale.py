"""What does a cluster or a large suite cost per order, and where would a large run break first?

    python benchmarks/scale.py                        10,000 orders over 1, 2, 4 and 8 simulated nodes, and the model
    python benchmarks/scale.py --orders 1000 --nodes 1,4
    python benchmarks/scale.py --orders 0             only what a real order costs, without a cluster
    python benchmarks/scale.py --entries 10,1000,5000,20000    suites of so many entries on this machine
    python benchmarks/scale.py --entries 20000 --parts check   one column of it: each part of each size is a run alone

Nodes are Ray's own processes on this machine, with one lane each. The instrument is a stand-in that sleeps for 10 ms
and returns a count of usual size; all else is real: scheduler, Ray, results file. A simulated node takes processor time
of the same machine as the driver, so that the figures for many nodes are worse than with real ones. The model stands on
what the driver took per order here, and on what real orders of the standard suite cost on this machine.

A suite of many entries is listed and checked for real. Of its run, the driver's part is real for all entries, and what
children do is a stand-in; what a visit takes beside its blocks comes from real visits of a hundred entries. `quick` is
real: `run --quick` (every entry once), then the same run continued to the end, seconds per entry each. All seconds are
wall-clock time; `cpu` beside it is processor time of the command and of what it waited for.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from photometer.definition import TimerArgs
from photometer.definition.loading import load_suite
from photometer.execution.executor import Done, Executor, MeasureOrder, Work, describe
from photometer.execution.local_executor import LocalExecutor
from photometer.execution.run_file import RecordWriter, kept_visits, open_run_file
from photometer.execution.run_settings import RunSettings
from photometer.execution.scheduler import run_plan
from photometer.execution.steps import COUNT, TIME
from photometer.instruments.ready_order import ReadyOrder
from photometer.model.machine import Environment, Machine, Node
from photometer.model.results_file import ResultsFile
from photometer.model.results_format import encode_record
from photometer.model.results_reader import LARGEST_FILE_BYTES, load_results
from photometer.plan import materialize, select
from photometer.remote.cluster import Cluster, import_ray
from photometer.remote.node_actors import Wanted
from photometer.remote.node_worker import NodeFacts, NodeOutcome, NodeRequest, NodeWorker, own_code_digest
from photometer.remote.ray_workplace import RayWorkplace
from photometer.session.cores import usable_cores
from photometer.session.session import Session
from photometer.worker.messages import TorchFacts

WORK_SECONDS = 0.010
# Stacks and functions of a small statement's count, as a results file has them.
RECORD_BYTES = 10_000
FACTS = TorchFacts("3.11.7", sys.executable, "2.13.0", "/torch", "abc", False, None, "", "", True, 1, ["cpu"])

MODEL_ORDERS, MODEL_COMMITS, MODEL_NODES, MODEL_CORES = 100_000, 1_000, 200, 16
# Orders whose cost is measured: a part of the standard suite that compiles nothing.
PRICED = "pointwise and not cpp"


class StandIn(NodeWorker):
    """A node that measures nothing."""

    def __init__(self, request: NodeRequest, shipped: tuple[str, ...]) -> None:
        self._name = request.name
        self._one_at_a_time = threading.Lock()

    def hello(self) -> NodeFacts:
        node = Node(self._name, Machine(cpu_model="stand-in"), cores=1)
        return NodeFacts(node, (0,), FACTS, "", own_code_digest(), os.getpid())

    def execute(self, work: Work, files: Mapping[str, Any]) -> NodeOutcome:
        with self._one_at_a_time:
            time.sleep(WORK_SECONDS)
        figures = {"total": 100, "outside_allocator": 90, "allocator_calls": 1}
        record = {
            "kind": "instruction_counts",
            "task_spec": {"stmt": "pass", "setup": "pass"},
            "number_per_run": 1,
            "repeats": [figures],
            "frozen_layout": True,
            "stacks": {"text": "x" * RECORD_BYTES},
        }
        return NodeOutcome(Done(record))

    def close(self) -> None:
        pass


@dataclasses.dataclass(frozen=True)
class Measured:
    nodes: int
    orders: int
    wall_seconds: float
    driver_seconds: float
    memory_megabytes: tuple[float, ...]
    file_bytes: int

    @property
    def overhead_milliseconds(self) -> float:
        """Return what an order takes on its node's lane beyond its own work."""
        return 1e3 * (self.wall_seconds * self.nodes / self.orders - WORK_SECONDS)

    @property
    def efficiency(self) -> float:
        return self.orders * WORK_SECONDS / (self.nodes * self.wall_seconds)

    @property
    def driver_milliseconds(self) -> float:
        return 1e3 * self.driver_seconds / self.orders

    def row(self) -> str:
        memory = " ".join(f"{each:.0f}" for each in self.memory_megabytes)
        return (
            f"| {self.nodes} | {self.wall_seconds:.1f} | {self.orders / self.wall_seconds:.0f} | "
            f"{self.overhead_milliseconds:.2f} | {100 * self.efficiency:.0f} % | {self.driver_milliseconds:.2f} | "
            f"{memory} |"
        )


class Nobody:
    def execute(self, work: Work) -> Done:
        raise AssertionError("work for this machine")


def measure(nodes: int, orders: int) -> Measured:
    """Run a plan over so many nodes of one lane each."""
    from ray.cluster_utils import Cluster as Simulated

    ray = import_ray()
    simulated = Simulated(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(nodes):
        simulated.add_node(num_cpus=1)
    ray.init(address=simulated.address, log_to_driver=False, logging_level="ERROR")
    try:
        with tempfile.TemporaryDirectory() as folder, Cluster("auto") as cluster:
            wanted = Wanted(Environment.current(), FACTS, actor_class=StandIn)
            with RayWorkplace(cluster, wanted) as place:
                return _run(place, orders, Path(folder) / "results.json")
    finally:
        ray.shutdown()
        simulated.shutdown()


def _run(place: RayWorkplace, orders: int, path: Path) -> Measured:
    plan = materialize({str(number): TimerArgs("pass") for number in range(orders)})
    file = ResultsFile.create(path, {"run": {"suite": "scale"}}, machine=Machine())
    memory: list[float] = []
    done = 0

    def keep(record: dict[str, Any]) -> None:
        nonlocal done
        file.append(record)
        done += 1
        if done % max(orders // 4, 1) == 0:
            memory.append(_resident_megabytes())

    executor: Executor = Nobody()
    settings = RunSettings(options={"wall": False}, environment=Environment.current())
    nodes = len(place.nodes)
    cpu, start = time.process_time(), time.perf_counter()
    with RecordWriter(keep) as writer:
        failed = run_plan(plan, settings, executor, FACTS, writer.keep, workplace=place)
    wall = time.perf_counter() - start
    if failed or done != orders:
        raise SystemExit(f"{failed} orders failed, {done} of {orders} have a record")
    return Measured(nodes, orders, wall, time.process_time() - cpu, tuple(memory), path.stat().st_size)


@dataclasses.dataclass(frozen=True)
class Costs:
    """What one order takes: on one core, its server running; and of a results file."""

    orders: int
    seconds: float
    record_bytes: float


def price(settings: RunSettings) -> Costs:
    """Run the priced orders on one core of this machine, and return their mean cost without that of the start."""
    stamps: list[float] = []
    sizes: list[int] = []

    def keep(record: dict[str, Any]) -> None:
        stamps.append(time.perf_counter())
        sizes.append(len(encode_record(record)))

    with LocalExecutor(Session(settings.environment)) as executor:
        facts = describe(executor)
        plan = select(materialize(load_suite("standard"), available_devices=facts.devices), PRICED)
        start = time.perf_counter()
        run_plan(plan, settings, executor, facts, keep)
    # Counts come one by one, the first of them with the start of its server; times come when all visits are done.
    spent = stamps[-1] - stamps[0] if COUNT.name in settings.steps else stamps[-1] - start
    orders = len(stamps) - 1 if COUNT.name in settings.steps else len(stamps)
    return Costs(orders, spent / orders, sum(sizes) / len(sizes))


LARGE_SUITE = """
from photometer import TimerArgs

BENCHMARKS = {{
    f"group {{group}}": {{
        f"entry {{entry}}": TimerArgs(f"y = x + {{entry}}", "x = torch.ones(8)")
        for entry in range(100 * group, min(100 * group + 100, {entries}))
    }}
    for group in range(({entries} + 99) // 100)
}}
"""
# Visits whose cost is measured, and the seconds of blocks in each: an eighth of a run's default.
SAMPLED_VISITS, VISIT_SECONDS = 100, 0.025
PARTS = ("list", "check", "drive", "quick")
COLUMNS = (
    "entries",
    "list, s",
    "list, cpu s",
    "check per entry, ms",
    "driver, ms",
    "visits",
    "overhead per entry, ms",
    "driver, MB",
    "quick, s",
    "continued, s",
)


class InstantVisits:
    """Returns at once what a visit would: blocks that differ as much as those of a quiet machine."""

    def execute(self, work: Work) -> Done:
        blocks = [5e-4 * (1.0 + place % 7 * 0.004) for place in range(50)]
        return Done({"kind": "visit", "number_per_run": 400, "block_seconds": blocks, "whole_seconds": VISIT_SECONDS})


def measure_entries(entries: int, parts: Collection[str], visit_milliseconds: float | None) -> str:
    """Return a row of the table of large suites; parts that were not asked for are dashes."""
    cells = dict.fromkeys(COLUMNS, "–") | {"entries": f"{entries:,}"}
    with tempfile.TemporaryDirectory() as folder:
        suite = Path(folder) / "large.py"
        suite.write_text(LARGE_SUITE.format(entries=entries))
        if "list" in parts:
            wall, cpu = _seconds_of("list", str(suite))
            cells |= {"list, s": f"{wall:.2f}", "list, cpu s": f"{cpu:.2f}"}
        if "check" in parts:
            wall, _ = _seconds_of("check", str(suite))
            cells["check per entry, ms"] = f"{1e3 * wall / entries:.1f}"
        if "drive" in parts:
            script = (sys.executable, __file__, "--drive", str(suite))
            driven = subprocess.run(script, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
            driver, visits, megabytes = map(float, driven)
            cells |= {"driver, ms": f"{driver:.1f}", "visits": f"{visits:.1f}", "driver, MB": f"{megabytes:.0f}"}
            if visit_milliseconds is not None:
                cells["overhead per entry, ms"] = f"{driver + visits * visit_milliseconds:.0f}"
        if "quick" in parts:
            words = ("run", str(suite), "--no-instructions", "-o", str(Path(folder) / "out"))
            for name, more in (("quick, s", "--quick"), ("continued, s", "--resume")):
                cells[name] = f"{_seconds_of(*words, more)[0] / entries:.2f}"
    return f"| {' | '.join(cells.values())} |"


def _seconds_of(*words: str) -> tuple[float, float]:
    """Return the wall-clock time of a command, and the processor time of it and of the processes that it waited for."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run((sys.executable, "-m", "photometer", *words), stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def drive(suite: str) -> str:
    """Return what a run takes of the driver: milliseconds of processor time and visits per entry; megabytes at most."""
    plan = materialize(load_suite(suite))
    settings = RunSettings(options={"instructions": False}, cores=tuple(usable_cores()[-2:]))
    with tempfile.TemporaryDirectory() as folder:
        file = open_run_file(Path(folder), plan, settings, FACTS, resume=False)
        start = time.process_time()
        with kept_visits(file, settings) as book:
            run_plan(plan, settings, InstantVisits(), FACTS, file.file.append, book=book)
        spent = time.process_time() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        visits = sum(len(measurement.visits) for measurement in load_results(file.path).measurements)
    return f"{1e3 * spent / len(plan)} {visits / len(plan)} {peak}"


def price_visit() -> float:
    """Return the milliseconds that a real visit takes beside its blocks."""
    plan = list(materialize({str(i): TimerArgs(f"y = x + {i}", "x = torch.ones(8)") for i in range(SAMPLED_VISITS)}))
    beside = []
    with LocalExecutor(Session(Environment.current())) as executor:
        for order in plan:
            work = MeasureOrder(
                ReadyOrder(order), VISIT_SECONDS, 1, tuple(usable_cores()[-1:]), runs_per_block=400, step=TIME
            )
            start = time.perf_counter()
            outcome = executor.execute(work)
            assert isinstance(outcome, Done)
            assert outcome.record is not None
            beside.append(time.perf_counter() - start - sum(outcome.record["block_seconds"]))
    return 1e3 * sorted(beside)[len(beside) // 2]


def print_entries(sizes: list[int], parts: Collection[str]) -> None:
    each = price_visit() if "drive" in parts else None
    if each is not None:
        print(f"a visit takes {each:.1f} ms beside its blocks (median of {SAMPLED_VISITS})")
    print(f"| {' | '.join(COLUMNS)} |")
    print("| --- " * len(COLUMNS) + "|", flush=True)
    for entries in sizes:
        print(measure_entries(entries, parts, each), flush=True)


def _resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def model(driver: float, count: Costs, timing: Costs) -> str:
    """Return the paper model of a large run, from what an order was measured to cost nodes, driver and file."""
    runs = MODEL_ORDERS * MODEL_COMMITS
    counting_hours = runs * count.seconds / (MODEL_NODES * MODEL_CORES) / 3600
    timing_hours = runs * timing.seconds / MODEL_NODES / 3600
    driving = 2 * runs * driver / 3600
    size = runs * (count.record_bytes + timing.record_bytes) / 1e12
    per_second = MODEL_NODES * MODEL_CORES / count.seconds
    lines = [
        f"{MODEL_ORDERS:,} orders x {MODEL_COMMITS:,} commits on {MODEL_NODES} nodes of {MODEL_CORES} cores:",
        f"  counting   {counting_hours:8.0f} h   {count.seconds:.2f} s each, on every core",
        f"  timing     {timing_hours:8.0f} h   {timing.seconds:.2f} s each, a node at a time",
        f"  driver     {driving:8.0f} h   {1e3 * driver:.2f} ms each, by one process, beside the nodes",
        f"  results    {size:8.1f} TB  {count.record_bytes / 1e3:.1f} kB per count, "
        f"{timing.record_bytes / 1e3:.1f} per time",
        f"  while it counts, nodes finish {per_second:,.0f} orders per second; a driver takes {1 / driver:,.0f}",
        f"  a commit's file has {1e3 * size / MODEL_COMMITS:.2f} GB; {LARGEST_FILE_BYTES / 2**30:.2f} GB are read",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=10_000)
    parser.add_argument("--nodes", default="1,2,4,8")
    parser.add_argument("--entries", help="Sizes of suites to measure on this machine instead.")
    parser.add_argument("--parts", default="list,check,drive", help=f"Of {', '.join(PARTS)}; with --entries.")
    parser.add_argument("--drive", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drive:
        print(drive(options.drive))
        return
    if options.entries:
        print_entries([int(size) for size in options.entries.split(",")], options.parts.split(","))
        return
    core = usable_cores()[-1:]
    count = price(RunSettings(options={"wall": False}, cores=core))
    timing = price(RunSettings(options={"instructions": False}, compiled=False, cores=core))
    for name, costs in (("count", count), ("timing", timing)):
        print(f"a {name}: {costs.seconds:.2f} s on one core, {costs.record_bytes:,.0f} bytes ({costs.orders} orders)")
    if not options.orders:
        return
    print("| nodes | seconds | orders per second | overhead per order, ms | efficiency | driver per order, ms | MB |")
    print("| --- | --- | --- | --- | --- | --- | --- |", flush=True)
    found = []
    for nodes in map(int, options.nodes.split(",")):
        found.append(measure(nodes, options.orders))
        print(found[-1].row(), flush=True)
    print(model(min(each.driver_milliseconds for each in found) / 1e3, count, timing))


if __name__ == "__main__":
    main()
