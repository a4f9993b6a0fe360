"""Do the stated 95 % intervals contain the truth? 200 short measurements of each statement, quiet and under load.

    python benchmarks/precision.py

The truth is taken to be the median of all samples of all repetitions of one statement in one condition. Beside ours
stand the textbook interval from order statistics, which takes samples as independent, and the interval from which
torch derives its significant figures: 1.645 standard errors of the middle half, but at least 25 ns.
With --figures the tables are written to docs/figures/precision.json.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

STATEMENTS = {
    "x + y": "x = torch.ones(16); y = torch.ones(16)",
    "torch.softmax(x, 0)": "x = torch.rand(1000)",
    "sorted(v)": "v = list(range(200))[::-1]",
    "torch.mm(x, x)": "x = torch.rand(64, 64)",
}


def burn(stop_at: float) -> None:
    """Other work on the machine: bursts of computing with pauses, as a busy desktop or CI neighbour makes them."""
    import random

    chance = random.Random()
    while time.time() < stop_at:
        end = time.time() + chance.expovariate(1 / 0.05)
        while time.time() < end:
            sum(range(1000))
        time.sleep(chance.expovariate(1 / 0.05))


# torch.utils.benchmark.utils.common._MIN_CONFIDENCE_INTERVAL
TORCH_FLOOR_SECONDS = 25e-9


def torch_interval(times: list[float]) -> tuple[float, float]:
    ordered = sorted(times)
    n = len(ordered)
    middle = ordered[n // 4 : math.ceil(3 * n / 4)]
    half = max(1.645 * statistics.pstdev(middle) / math.sqrt(len(middle)), TORCH_FLOOR_SECONDS)
    centre = statistics.median(ordered)
    return centre - half, centre + half


def run(repetitions: int, seconds: float) -> dict[str, list[list[float]]]:
    from photometer import Timer

    timers = {stmt: Timer(stmt, setup) for stmt, setup in STATEMENTS.items()}
    samples: dict[str, list[list[float]]] = {stmt: [] for stmt in timers}
    for _ in range(repetitions):
        for stmt, timer in timers.items():
            samples[stmt].append(timer.blocked_autorange(min_run_time=seconds).times)
    return samples


def report(condition: str, samples: dict[str, list[list[float]]]) -> dict[str, list[str]]:
    """Print a line per statement; return them by condition and statement."""
    from photometer.stats.summary import median_interval, order_statistic_interval

    methods: dict[str, Callable[[list[float]], tuple[float, float]]] = {
        "ours": median_interval,
        "order statistics": order_statistic_interval,
        "torch": torch_interval,
    }
    table = {}
    for stmt, runs in samples.items():
        truth = statistics.median(t for times in runs for t in times)
        row = []
        for method in methods.values():
            intervals = [method(times) for times in runs]
            covered = sum(low <= truth <= high for low, high in intervals) / len(intervals)
            width = statistics.median((high - low) / 2 / truth for low, high in intervals)
            row.append(f"{covered * 100:5.1f} % (± {width * 100:5.2f} %)")
        print(f"{condition:<7} {stmt:<22} " + "   ".join(row), flush=True)
        table[f"{condition}, {stmt}"] = [re.sub(r" +", " ", cell).strip().replace("(± ", "(±") for cell in row]
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--figures", action="store_true")
    arguments = parser.parse_args()
    heads = ("photometer", "order statistics", "torch")
    print(f"{'':<7} {'share of intervals that hold the truth':<22}\n{'':<30} " + "   ".join(f"{h:<19}" for h in heads))
    table = report("quiet", run(arguments.repetitions, arguments.seconds))
    length = arguments.repetitions * (arguments.seconds * 1.6 + 0.05) * len(STATEMENTS) * 3
    burners = [
        multiprocessing.get_context("spawn").Process(target=burn, args=(time.time() + length,), daemon=True)
        for _ in range(max(multiprocessing.cpu_count() - 1, 1))
    ]
    for burner in burners:
        burner.start()
    table |= report("loaded", run(arguments.repetitions, arguments.seconds))
    for burner in burners:
        burner.terminate()
    if arguments.figures:
        from benchmarks.figures import write_figures

        write_figures("precision", heads, table)


if __name__ == "__main__":
    main()
