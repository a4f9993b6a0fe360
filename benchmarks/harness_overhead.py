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
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

STATEMENTS = {
    "pass": ("pass", "pass", 2_000_000),
    "about 1 us": ("torch.add(x, y)", "x = torch.ones(16); y = torch.ones(16)", 20_000),
    "about 1 ms": ("torch.mm(x, x)", "x = torch.ones(300, 300)", 25),
}


def per_run_times(rounds: int) -> dict[str, list[str]]:
    import torch
    from torch.utils.benchmark import Timer as TorchTimer

    from photometer import Timer

    torch.set_num_threads(1)
    table = {}
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
        difference = f"{added * 1e9:+.1f} ns" if name == "pass" else f"{share * 100:+.2f} %"
        table[name] = [*(f"{quickest_run[tool] * 1e9:,.1f}" for tool in samples), difference]
    return table


def quickest(command: list[str], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def import_cost(repeats: int) -> dict[str, list[str]]:
    code = (
        "import torch, time\nstart = time.perf_counter()\nimport photometer\nphotometer.Timer, photometer.Compare\n"
        "print(time.perf_counter() - start)"
    )
    seconds = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(repeats)]
    help_seconds = quickest([sys.executable, "-m", "photometer", "--help"], repeats)
    print(f"import photometer (Timer and Compare) on top of torch: {min(seconds) * 1e3:.1f} ms")
    print(f"photometer --help: {help_seconds:.3f} s")
    return {"import photometer": [f"{min(seconds) * 1e3:.0f} ms"], "photometer --help": [f"{help_seconds:.2f} s"]}


def comparing(count: int) -> dict[str, list[str]]:
    import torch.utils.benchmark as torch_benchmark

    import photometer

    table = {}
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
            seconds = time.perf_counter() - start
            print(f"Compare of {size:>6} measurements, {tool.__name__:<22}: {seconds:.2f} s")
            table[f"Compare of {size:,}, {tool.__name__}"] = [f"{seconds:.2f} s"]
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--figures", action="store_true", help="Write docs/figures/harness_*.json.")
    arguments = parser.parse_args()
    overhead = per_run_times(arguments.rounds)
    costs = {**import_cost(5), **comparing(10_000)}
    if arguments.figures:
        from benchmarks.figures import write_figures

        write_figures("harness_overhead", ("timeit", "torch", "photometer", "photometer − timeit"), overhead)
        write_figures("harness_costs", ("seconds",), costs)


if __name__ == "__main__":
    main()
