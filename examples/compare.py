"""Timer and Compare: two statements over several sizes and thread counts, in three environments.

    $ python -m examples.compare

The environments are imitated: a "branch" is a module whose results arrive a little later. Real ones are separate
processes that each save a results file; here, too, the measurements take the way through a file.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

import photometer

SIZES = (1, 100, 10_000, 50_000)
BRANCHES = {"main": 0, "my_branch": 1, "severe_regression": 5}
TASKS = {"add": "module.add(x, y)", "add (extra +0)": "module.add(x, y + zero)"}
THREADS = (1, 2)


class SlowerTorch:
    """torch.add as a branch has it that spends some nanoseconds more on each element."""

    def __init__(self, extra_ns_per_element: int) -> None:
        self._extra_seconds_per_element = extra_ns_per_element * 1e-9

    def add(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        result = torch.add(x, y)
        deadline = time.perf_counter() + result.numel() * self._extra_seconds_per_element
        while self._extra_seconds_per_element and time.perf_counter() < deadline:
            pass
        return result


def measure(replicates: int, min_run_time: float, progress: Callable[[str], None]) -> list[photometer.Measurement]:
    timers = [
        photometer.Timer(
            stmt,
            globals={
                "module": SlowerTorch(extra),
                "x": torch.ones((size, 4)),
                "y": torch.ones((1, 4)),
                "zero": torch.zeros(()),
            },
            label="add",
            sub_label=sub_label,
            description=f"size: {size}",
            env=branch,
            num_threads=num_threads,
        )
        for branch, extra in BRANCHES.items()
        for sub_label, stmt in TASKS.items()
        for size in SIZES
        for num_threads in THREADS
    ]
    measurements = []
    for number, timer in enumerate(timers * replicates, start=1):
        measurements.append(timer.blocked_autorange(min_run_time=min_run_time))
        progress(f"\r{number} of {len(timers) * replicates}")
    progress("\n")
    return measurements


def main() -> None:
    measurements = measure(replicates=2, min_run_time=0.02, progress=lambda text: print(text, end="", flush=True))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.json"
        photometer.save(path, measurements)
        comparison = photometer.Compare(photometer.load(path))

    print("As it is:\n")
    comparison.print()

    print("Only digits that mean something, the fastest in green, doubtful measurements marked:\n")
    comparison.trim_significant_figures()
    comparison.colorize()
    comparison.highlight_warnings()
    comparison.print()

    print("Each row beside the same row of main; ≈ where the difference may be chance:\n")
    comparison.relative(env="main", style="%")
    comparison.print()


if __name__ == "__main__":
    main()
