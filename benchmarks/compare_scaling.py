"""How long Compare takes for 100, 1,000 and 10,000 measurements, beside torch's from the same run.

    python -m benchmarks.compare_scaling

Both get the same samples, in one process, alternating; the best of a few rounds counts. "plain" is str(compare);
"all" also trims digits, colours and highlights warnings. Linear growth shows as a ratio of about 10 a step.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import torch.utils.benchmark as torch_benchmark

from photometer.model.measurement import Measurement
from photometer.model.task import TaskSpec
from photometer.tables import Compare

SIZES = (100, 1_000, 10_000)
SAMPLES = 50
COLUMNS = 10
ROUNDS = 3


def make(count: int, measurement: Callable[..., Any], spec: Callable[..., Any]) -> list[Any]:
    """`count` measurements: ten columns, the rest rows, half of them of another env. New objects: nothing is cached."""
    source = random.Random(0)
    made = []
    for i in range(count):
        where = {"label": "op", "sub_label": f"row {i // COLUMNS // 2}", "description": f"size {i % COLUMNS}"}
        times = [1e-4 * source.gauss(1, 0.02) for _ in range(SAMPLES)]
        made.append(measurement(10, times, spec("op(x)", "pass", env=("a", "b")[i // COLUMNS % 2], **where)))
    return made


def seconds(compare: Callable[[list[Any]], Any], results: list[Any], everything: bool) -> float:
    start = time.perf_counter()
    table = compare(results)
    if everything:
        table.trim_significant_figures()
        table.colorize()
        table.highlight_warnings()
    text = str(table)
    assert "size 9" in text
    return time.perf_counter() - start


def main() -> None:
    peers = {
        "photometer": (Compare, Measurement, TaskSpec),
        "torch": (torch_benchmark.Compare, torch_benchmark.Measurement, torch_benchmark.TaskSpec),
    }
    for everything in (False, True):
        print(f"str(Compare), {'all' if everything else 'plain'}, {SAMPLES} samples a measurement")
        print(f"{'measurements':>14} {'photometer':>12} {'torch':>12} {'torch / ours':>14}   growth of ours")
        previous = None
        for size in SIZES:
            best: dict[str, float] = {}
            for _ in range(ROUNDS):
                for name, (compare, measurement, spec) in peers.items():
                    taken = seconds(compare, make(size, measurement, spec), everything)
                    best[name] = min(taken, best.get(name, taken))
            ours, theirs = best["photometer"], best["torch"]
            growth = "" if previous is None else f"{ours / previous:.1f}× for 10× as many"
            print(f"{size:>14,} {ours:>10.3f} s {theirs:>10.3f} s {theirs / ours:>13.1f}×   {growth}")
            previous = ours


if __name__ == "__main__":
    main()
