"""The standard suite with photometer beside the cost of the same orders with torch's own tools.

torch's side is measured on a sample of six orders (three Python, three C++) and extrapolated to all of them; it would
take hours. Both sides time each order and count the instructions of 100 runs, with nothing compiled before.
    python benchmarks/standard_suite.py [--sample N] [--only-torch | --only-photometer]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from photometer.definition import load_suite
from photometer.plan import WorkOrder, materialize, select

# From the lightest to a heavy one, in both languages, without TorchScript: torch's tools have no models to load.
SAMPLE = ('"one element"', "sum", "LayerNorm")
MIN_RUN_TIME = 0.2
REPEATS = 3

TORCH_SIDE = """
import sys
from torch.utils.benchmark import Timer
stmt, setup, global_setup, language = sys.argv[1:]
timer = Timer(stmt, setup, global_setup, language=language)
timer.blocked_autorange(min_run_time={min_run_time})
timer.collect_callgrind(number=100, repeats={repeats}, collect_baseline=False)
"""


@dataclass(frozen=True)
class Cost:
    wall_seconds: float
    cpu_seconds: float


def cost_of(command: list[str], variables: dict[str, str]) -> Cost:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    wall = time.monotonic() - start
    if done.returncode != 0:
        raise SystemExit(f"{command[:3]} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def sample(size: int) -> list[WorkOrder]:
    plan = materialize(load_suite("standard"))
    chosen = []
    for words in SAMPLE:
        for language in ("python", "cpp"):
            chosen.append(select(plan, f"{words} and eager and forward and {language}").orders[0])
    return chosen[:size]


def torch_side(orders: list[WorkOrder]) -> Cost:
    costs = []
    for order in orders:
        args = order.args
        language = "python" if order.auto.words()[3] == "python" else "c++"
        code = TORCH_SIDE.format(min_run_time=MIN_RUN_TIME, repeats=REPEATS)
        with tempfile.TemporaryDirectory() as cache:
            command = [sys.executable, "-c", code, args.stmt, args.setup, args.global_setup, language]
            # torch's counter starts whatever is called python on the PATH.
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            costs.append(cost_of(command, {"TORCH_EXTENSIONS_DIR": cache, "TMPDIR": cache, "PATH": path}))
        print(
            f"  {order.short_title:50} {costs[-1].wall_seconds:8.1f} s {costs[-1].cpu_seconds:8.1f} s CPU", flush=True
        )
    count = len(costs)
    return Cost(sum(c.wall_seconds for c in costs) / count, sum(c.cpu_seconds for c in costs) / count)


def photometer_side() -> Cost:
    with tempfile.TemporaryDirectory() as folder:
        options = ["-q", "-o", f"{folder}/results", "--repeats", str(REPEATS), "--min-run-time", str(MIN_RUN_TIME)]
        command = [sys.executable, "-m", "photometer", "run", "standard", *options]
        return cost_of(command, {"PHOTOMETER_CACHE": f"{folder}/cache"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=2 * len(SAMPLE))
    parser.add_argument("--only-torch", action="store_true")
    parser.add_argument("--only-photometer", action="store_true")
    asked = parser.parse_args()
    orders = len(materialize(load_suite("standard")))
    torch, ours = None, None
    if not asked.only_photometer:
        print("torch.utils.benchmark, one order after another:")
        each = torch_side(sample(asked.sample))
        torch = Cost(each.wall_seconds * orders, each.cpu_seconds * orders)
        print(f"  extrapolated to {orders} orders: {torch.wall_seconds / 60:.1f} min, {torch.cpu_seconds:.0f} s CPU")
    if not asked.only_torch:
        ours = photometer_side()
        print(f"photometer, all {orders} orders: {ours.wall_seconds / 60:.1f} min, {ours.cpu_seconds:.0f} s CPU")
    if torch is not None and ours is not None:
        wall, cpu = torch.wall_seconds / ours.wall_seconds, torch.cpu_seconds / ours.cpu_seconds
        print(f"torch's tools take {wall:.1f} times as long, and {cpu:.1f} times the CPU time")


if __name__ == "__main__":
    main()
