"""Do two runs on one machine agree? The standard suite twice, beside torch's Timer and pyperf on a sample of it.

    python benchmarks/repeatability.py [--load] [--suite standard] [-k EXPRESSION] [--sample 10] [-o FOLDER]
    python benchmarks/repeatability.py --sample 0                               photometer alone
    python benchmarks/repeatability.py FIRST/results.json SECOND/results.json

Every tool measures everything once, then everything once more. Printed are the shares of statements whose two figures
agree within 1, 2 and 5 %, how many of the stated 95 % intervals hold the other run's figure, how many times are called
doubtful, and what a statement costs. `--load` keeps every core busy with another process meanwhile.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import math
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from photometer.definition import load_suite
from photometer.model.measurement import Measurement
from photometer.model.records import from_record
from photometer.model.results_reader import load_results
from photometer.plan import materialize, select
from photometer.plan.work_order import WorkOrder

TORCH_SIDE = """
import json, sys
from torch.utils.benchmark import Timer
m = Timer(sys.argv[1], sys.argv[2]).blocked_autorange(min_run_time=0.2)
print(json.dumps(m.median))
"""


@dataclasses.dataclass(frozen=True)
class Figure:
    """What one run says of one statement; the interval if it states one."""

    seconds: float
    interval: tuple[float, float] | None = None
    is_doubtful: bool = False


@dataclasses.dataclass(frozen=True)
class Run:
    """The figures of one run by statement, and what it took."""

    figures: Mapping[str, Figure]
    wall_seconds: float


def burn() -> None:
    while True:
        sum(range(10_000))


@contextlib.contextmanager
def load(wanted: bool) -> Iterator[None]:
    """Keep every core busy with another process."""
    spawn = multiprocessing.get_context("spawn")
    burners = [spawn.Process(target=burn, daemon=True) for _ in range(os.cpu_count() or 1)] if wanted else []
    for burner in burners:
        burner.start()
    try:
        yield
    finally:
        for burner in burners:
            burner.terminate()


def photometer_run(suite: str, folder: Path, expression: str | None = None) -> Run:
    command = [sys.executable, "-m", "photometer", "run", suite, "--no-instructions", "-q", "-o", str(folder)]
    command += [] if expression is None else ["-k", expression]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"photometer run ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return photometer_figures(folder / "results.json", time.monotonic() - start)


def photometer_figures(path: Path, wall_seconds: float = math.nan) -> Run:
    figures = {}
    for record in load_results(path).records:
        if record["kind"] == "measurement" and "order" in record:
            m = from_record(Measurement, record)
            figures[str(record["order"]["id"])] = Figure(m.seconds, m.interval_seconds, m.has_warnings)
    return Run(figures, wall_seconds)


def sample_of(suite: str, size: int) -> list[WorkOrder]:
    """Return plain Python statements of one thread, evenly over the suite."""
    orders = select(materialize(load_suite(suite)), "python and eager").orders
    plain = [order for order in orders if order.args.num_threads == 1 and order.model_id is None]
    return plain[:: max(len(plain) // max(size, 1), 1)][:size]


def sample_run(orders: Sequence[WorkOrder], measure: Callable[[WorkOrder], float]) -> Run:
    start = time.monotonic()
    return Run({order.id: Figure(measure(order)) for order in orders}, time.monotonic() - start)


def torch_figure(order: WorkOrder) -> float:
    command = [sys.executable, "-c", TORCH_SIDE, order.args.stmt, f"import torch\n{order.args.setup}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout))


def pyperf_figure(order: WorkOrder) -> float:
    """Return the mean of pyperf's values: what it prints. Five processes instead of twenty, for the sake of time."""
    import pyperf  # type: ignore[import-untyped]

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "out.json"
        options = ["-q", "-p", "5", "-n", "5", "-o", str(file), "-s", f"import torch\n{order.args.setup}"]
        command = [sys.executable, "-m", "pyperf", "timeit", *options, order.args.stmt]
        subprocess.run(command, capture_output=True, text=True, check=True)
        return float(pyperf.Benchmark.load(str(file)).mean())


def report(name: str, first: Run, second: Run, only: set[str] | None = None) -> None:
    shared = [each for each in first.figures if each in second.figures and (only is None or each in only)]
    pairs = [(first.figures[each], second.figures[each]) for each in shared]
    if not pairs:
        return
    if not pairs:
        return
    apart = [abs(math.log(b.seconds / a.seconds)) for a, b in pairs]

    def within(share: float) -> str:
        return f"{sum(each <= math.log1p(share) for each in apart) / len(apart):6.1%}"

    held = [
        low <= other.seconds <= high
        for one in pairs
        for own, other in (one, one[::-1])
        if own.interval is not None
        for low, high in [own.interval]
    ]
    widths = sorted((f.interval[1] - f.interval[0]) / 2 / f.seconds for f, _ in pairs if f.interval is not None)
    doubtful = sum(a.is_doubtful + b.is_doubtful for a, b in pairs) / 2 / len(pairs)
    print(
        f"{name:<34}{len(pairs):>5}{within(0.01):>8}{within(0.02):>8}{within(0.03):>8}{within(0.05):>8}"
        f"{math.expm1(max(apart)):>8.1%}"
        + (f"{sum(held) / len(held):>8.1%}{widths[len(widths) // 2]:>8.1%}{doubtful:>8.1%}" if held else " " * 24)
        + f"{(first.wall_seconds + second.wall_seconds) / 2 / len(first.figures):>8.2f} s",
        flush=True,
    )


def header() -> None:
    heads = ("orders", "1 %", "2 %", "3 %", "5 %", "worst", "held", "± half", "doubt", "each")
    print(f"{'two runs agree within':<33}" + "".join(f"{head:>{6 if i == 0 else 8}}" for i, head in enumerate(heads)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="two results files to compare instead of measuring")
    parser.add_argument("--suite", default="standard")
    parser.add_argument("-k", dest="expression", help="Only these orders of the suite.")
    parser.add_argument("--sample", type=int, default=10, help="Statements for the other tools; 0 leaves them out.")
    parser.add_argument("--load", action="store_true")
    parser.add_argument("-o", "--folder", type=Path)
    asked = parser.parse_args()
    orders = {order.id: order for order in materialize(load_suite(asked.suite))}
    single = {identity for identity, order in orders.items() if order.args.num_threads == 1}
    if asked.files:
        first, second = map(photometer_figures, asked.files)
        header()
        report("photometer", first, second)
        report("photometer, one thread", first, second, single)
        return
    sample = sample_of(asked.suite, asked.sample)
    others = {"torch.utils.benchmark": torch_figure, "pyperf": pyperf_figure} if sample else {}
    with contextlib.ExitStack() as stack:
        folder = asked.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(load(asked.load))
        runs, runs_of_others = [], []
        for name in ("first", "second"):
            runs.append(photometer_run(asked.suite, folder / name, asked.expression))
            runs_of_others.append([sample_run(sample, measure) for measure in others.values()])
    header()
    first, second = runs
    report("photometer", first, second)
    report("photometer, one thread", first, second, single)
    if sample:
        report("photometer, the sample", first, second, {order.id for order in sample})
    for tool, *figures in zip(others, *runs_of_others, strict=True):
        report(f"{tool}, the sample", *figures)


if __name__ == "__main__":
    main()
