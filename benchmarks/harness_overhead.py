"""What the harness itself costs, beside timeit and torch.utils.benchmark in the same run.

    python benchmarks/harness_overhead.py

Per-run times of three statements by each tool, rounds interleaved so that drift hits all alike; the import on top of
torch; the command's help; and a Compare of 10,000 measurements (benchmarks/compare_scaling.py has more of that).
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
import timeit

STATEMENTS = {
    "pass": ("pass", "pass", 2_000_000),
    "about 1 us": ("torch.add(x, y)", "x = torch.ones(16); y = torch.ones(16)", 20_000),
    "about 1 ms": ("torch.mm(x, x)", "x = torch.ones(300, 300)", 25),
}


def per_run_times(rounds: int) -> None:
    import torch
    from torch.utils.benchmark import Timer as TorchTimer

    from photometer import Timer

    torch.set_num_threads(1)
    print(f"{'ns per run':<22} {'timeit':>12} {'torch':>12} {'photometer':>12}   ours - timeit")
    for name, (stmt, setup, number) in STATEMENTS.items():
        samples: dict[str, list[float]] = {tool: [] for tool in ("timeit", "torch", "ours")}
        for round_number in range(rounds):
            # Made anew each time: where the loop's own code lies in memory makes a nanosecond and more.
            tools = {
                "timeit": timeit.Timer(stmt, setup, globals={"torch": torch}).timeit,
                "torch": TorchTimer(stmt, setup).timeit,
                "ours": Timer(stmt, setup).timeit,
            }
            order = list(tools) if round_number % 2 else list(reversed(tools))
            for tool in order:
                answer = tools[tool](number)
                samples[tool].append(answer / number if isinstance(answer, float) else answer.median)
        medians = {tool: statistics.median(times) for tool, times in samples.items()}
        # The harness adds the same to every run, so the quickest rounds show it best; medians stand beside them.
        quickest_run = {tool: min(times) for tool, times in samples.items()}
        added = quickest_run["ours"] - quickest_run["timeit"]
        share = added / quickest_run["timeit"]
        verdict = "within 1 % or 1 ns" if abs(share) < 0.01 or abs(added) < 1e-9 else "NOT within 1 % or 1 ns"
        for kind, values in (("quickest", quickest_run), ("median", medians)):
            shown = "".join(f" {values[tool] * 1e9:12.1f}" for tool in samples)
            tail = f"   {added * 1e9:+.2f} ns ({share * 100:+.2f} %): {verdict}" if kind == "quickest" else ""
            print(f"{name:<12} {kind:<9}{shown}{tail}")


def quickest(command: list[str], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def import_cost(repeats: int) -> None:
    code = (
        "import torch, time\nstart = time.perf_counter()\nimport photometer\nphotometer.Timer, photometer.Compare\n"
        "print(time.perf_counter() - start)"
    )
    seconds = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(repeats)]
    print(f"import photometer (Timer and Compare) on top of torch: {min(seconds) * 1e3:.1f} ms")
    print(f"photometer --help: {quickest([sys.executable, '-m', 'photometer', '--help'], repeats):.3f} s")


def comparing(count: int) -> None:
    import torch.utils.benchmark as torch_benchmark

    import photometer

    for tool in (torch_benchmark, photometer):
        for size in (count // 10, count):
            results = [
                tool.Measurement(
                    10, [1e-5 + 1e-8 * j for j in range(20)], tool.TaskSpec("x", "pass", "", "l", f"s{i}", "d")
                )
                for i in range(size)
            ]
            start = time.perf_counter()
            str(tool.Compare(results))
            print(f"Compare of {size:>6} measurements, {tool.__name__:<22}: {time.perf_counter() - start:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=41)
    arguments = parser.parse_args()
    per_run_times(arguments.rounds)
    import_cost(5)
    comparing(10_000)


if __name__ == "__main__":
    main()
