"""Device time beside its peers on a real GPU, in one run: torch's profiler, torch's Timer, triton's do_bench.

    python benchmarks/gpu_modes.py [modes] [ab] [compat] [shapes] [--repetitions 5] [--trials 20] [--null-trials 100]
    python benchmarks/gpu_modes.py --figures FILE.json    what a run has kept in $OUT, as the tables of README and docs

modes    six operations, hot and cold: ours within 3 % of the profiler's kernel time (or 0.1 us)?
ab       +5 % of device work found within 5 s; identical statements not called different
compat   blocked_autorange beside torch's on the GPU
shapes   backward, torch.compile, several streams, a statement that waits, one that allocates: what the table says

The profiler's own figures are taken with code of their own (below), before and after ours, because a large matrix
product runs at the power cap and its pace drifts with the card's heat.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SETUPS = {
    "add, 1 KB": ("torch.add(x, y)", "x, y = torch.randn(256, device='cuda'), torch.randn(256, device='cuda')"),
    "add, 8 MB, out=": (
        "torch.add(x, y, out=z)",
        "x, y = torch.randn(2**21, device='cuda'), torch.randn(2**21, device='cuda'); z = torch.empty_like(x)",
    ),
    "softmax, 8 MB": ("torch.softmax(x, -1)", "x = torch.randn(2048, 1024, device='cuda')"),
    "matmul 512, bf16": (
        "x @ y",
        "x, y = (torch.randn(512, 512, device='cuda', dtype=torch.bfloat16) for _ in range(2))",
    ),
    "copy, 1 GiB": ("y.copy_(x)", "x = torch.randn(2**28, device='cuda'); y = torch.empty_like(x)"),
    "matmul 8192, bf16": (
        "x @ y",
        "x, y = (torch.randn(8192, 8192, device='cuda', dtype=torch.bfloat16) for _ in range(2))",
    ),
}
WORK: dict[str, dict[str, Any]] = {
    "add, 8 MB, out=": {"bytes_per_run": 3 * 2**23},
    "softmax, 8 MB": {"bytes_per_run": 2 * 2**23},
    "copy, 1 GiB": {"bytes_per_run": 2 * 2**30},
    "matmul 8192, bf16": {"flops_per_run": 2 * 8192**3},
}
MIN_RUN_TIME = 0.3
LARGEST_SHARE, LARGEST_MICROSECONDS = 0.03, 0.1


def operation(name: str) -> Callable[[], Any]:
    """The statement as a function, for the peers."""
    import torch

    stmt, setup = SETUPS[name]
    namespace: dict[str, Any] = {"torch": torch}
    exec(setup, namespace)
    exec(f"def op():\n    return {stmt}", namespace)
    return namespace["op"]


def keep_busy(op: Callable[[], Any], seconds: float) -> None:
    import torch

    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for _ in range(5):
            op()
        torch.cuda.synchronize()


def profiler_seconds(op: Callable[[], Any], *, cold: bool) -> float:
    """Mean kernel time a run as torch's profiler gives it: the sum of all device records but the flush's, by runs."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    flush = torch.empty(256 * 2**20, dtype=torch.int8, device="cuda")
    keep_busy(op, 0.3)
    start = time.perf_counter()
    op()
    torch.cuda.synchronize()
    runs = int(min(max(MIN_RUN_TIME / (time.perf_counter() - start), 100), 2000))
    with profile(activities=[ProfilerActivity.CUDA]) as session:
        for _ in range(2 * runs):
            if cold:
                flush.zero_()
            op()
        torch.cuda.synchronize()
        # Else CUPTI stays attached, and every later launch costs the host about 3 us more. Read at the session's end.
        os.environ["TEARDOWN_CUPTI"] = "1"
    del os.environ["TEARDOWN_CUPTI"]
    keep_busy(op, 0.05)
    records = sorted(
        (event.start_ns(), event.duration_ns())
        for event in session.profiler.kineto_results.events()
        if event.device_type().name == "CUDA" and "FillFunctor<signed char>" not in event.name()
    )
    # The first half is the clock settling under load.
    return sum(duration for _, duration in records[len(records) // 2 :]) / runs / 1e9


def modes(repetitions: int) -> list[dict[str, Any]]:
    import torch.utils.benchmark
    import triton.testing

    from photometer import Timer
    from photometer.report.device_text import render_device

    rows = []
    for name, (stmt, setup) in SETUPS.items():
        op = operation(name)
        for repetition in range(repetitions):
            before = {cold: profiler_seconds(op, cold=cold) for cold in (False, True)}
            keep_busy(op, 0.3)
            ours = Timer(stmt, setup).measure_device(min_run_time=MIN_RUN_TIME, **WORK.get(name, {}))
            after = {cold: profiler_seconds(op, cold=cold) for cold in (False, True)}
            row = {
                "operation": name,
                "repetition": repetition,
                "ours": {mode.name.value: mode.median for mode in ours.modes if mode.measured},
                "sources": [mode.source and mode.source.value for mode in (ours.hot, ours.cold)],
                "cross_check": [
                    m.cross_check.seconds_per_run if m.cross_check else None for m in (ours.hot, ours.cold)
                ],
                "profiler_hot": [before[False], after[False]],
                "profiler_cold": [before[True], after[True]],
                "torch_timer": torch.utils.benchmark.Timer("op()", globals={"op": op}).blocked_autorange().median,
                "do_bench": triton.testing.do_bench(op, return_mode="median") / 1e3,
                "do_bench_cudagraph": triton.testing.do_bench_cudagraph(op, return_mode="median") / 1e3,
            }
            rows.append(row)
            if repetition == 0:
                print(render_device(ours))
            print(json.dumps(row), file=sys.stderr)
    show_modes(rows)
    return rows


def show_modes(rows: list[dict[str, Any]]) -> None:
    head = (
        "operation",
        "torch Timer",
        "do_bench",
        "cudagraph",
        "profiler hot",
        "ours hot",
        "profiler cold",
        "ours cold",
    )
    print("| " + " | ".join(head) + " | worst error | within |")
    print("|" + " --- |" * (len(head) + 2))
    for name in dict.fromkeys(row["operation"] for row in rows):
        mine = [row for row in rows if row["operation"] == name]
        worst, fine = 0.0, True
        for row in mine:
            for kind in ("hot", "cold"):
                reference = sum(row[f"profiler_{kind}"]) / 2
                error = row["ours"][f"device {kind}"] - reference
                worst = max(worst, abs(error) / reference)
                fine &= abs(error) <= max(LARGEST_SHARE * reference, LARGEST_MICROSECONDS / 1e6)
        columns = [
            [row["torch_timer"] for row in mine],
            [row["do_bench"] for row in mine],
            [row["do_bench_cudagraph"] for row in mine],
            [sum(row["profiler_hot"]) / 2 for row in mine],
            [row["ours"]["device hot"] for row in mine],
            [sum(row["profiler_cold"]) / 2 for row in mine],
            [row["ours"]["device cold"] for row in mine],
        ]
        cells = [f"{min(c) * 1e6:.2f} to {max(c) * 1e6:.2f}" for c in columns]
        print(f"| {name} | " + " | ".join(cells) + f" | {worst * 100:.1f} % | {'yes' if fine else 'NO'} |")


AB_CASES = {
    "add, 16 MB": (
        "n = 2**22; x = torch.randn(n * 105 // 100, device='cuda'); y = torch.empty_like(x)\n"
        "a, b, c, d = x[:n], y[:n], x, y",
        "torch.add(a, 1.0, out=b)",
        "torch.add(c, 1.0, out=d)",
    ),
    "add, 1 GiB": (
        "n = 2**28; x = torch.randn(n * 105 // 100, device='cuda'); y = torch.empty_like(x)\n"
        "a, b, c, d = x[:n], y[:n], x, y",
        "torch.add(a, 1.0, out=b)",
        "torch.add(c, 1.0, out=d)",
    ),
    "matmul 4096, bf16": (
        # More to sum over, not more columns: those come in whole tiles, and five per cent of them took 16 % longer.
        "x, y = (torch.randn(4304, 4096, device='cuda', dtype=torch.bfloat16) for _ in range(2))\n"
        "a, b, c, d = x[:4096].t(), y[:4096], x.t(), y",
        "a @ b",
        "c @ d",
    ),
}


def ab(trials: int, null_trials: int) -> list[dict[str, Any]]:
    from photometer.comparing.statements import ab

    # Attaching the profiler takes seconds, once a process; it is not part of a comparison.
    ab("torch.add(x, 1)", "torch.add(x, 1)", setup="x = torch.randn(100, device='cuda')", budget=0.1, device="any")
    rows = []
    for name, (setup, base, branch) in AB_CASES.items():
        for what, other, count in (("+5 %", branch, trials), ("identical", base, null_trials)):
            if count == 0:
                continue
            words: list[str] = []
            walls, ratios, replicates = [], [], []
            for trial in range(count):
                start = time.perf_counter()
                found = ab(base, other, setup=setup, budget=4.5, seed=trial, device="any")
                walls.append(time.perf_counter() - start)
                words.append(found.verdict)
                ratios.append(found.ratio)
                replicates.append(found.replicates)
            counts = {word: words.count(word) for word in dict.fromkeys(words)}
            rows.append(
                {
                    "case": name,
                    "what": what,
                    "verdicts": counts,
                    "wall": walls,
                    "ratios": ratios,
                    "replicates": replicates,
                    "measured_by": found.measured_by,
                }
            )
            print(
                f"{name}, {what}: {counts} of {count}, {found.measured_by}; ratio {min(ratios):.4f} to "
                f"{max(ratios):.4f}; {min(walls):.2f} to {max(walls):.2f} s, sum {sum(walls):.0f} s; "
                f"replicates {min(replicates)} to {max(replicates)}",
                flush=True,
            )
    return rows


def span(seconds: list[float]) -> str:
    """Lowest to highest in microseconds, as the pages show them; one figure if both are written alike."""
    ends = [1e6 * min(seconds), 1e6 * max(seconds)]
    low, high = (f"{end:.{0 if end >= 1000 else 1 if end >= 100 else 2}f}" for end in ends)
    return low if low == high else f"{low} to {high}"


# Rows that README has room for, and the columns that it shows of them.
SHORT_ROWS = ("add, 1 KB", "softmax, 8 MB", "matmul 512, bf16", "matmul 8192, bf16")
COLUMNS: dict[str, Callable[[dict[str, Any]], float]] = {
    "torch Timer": lambda row: row["torch_timer"],
    "do_bench": lambda row: row["do_bench"],
    "do_bench_cudagraph": lambda row: row["do_bench_cudagraph"],
    "profiler, hot": lambda row: sum(row["profiler_hot"]) / 2,
    "ours, hot": lambda row: row["ours"]["device hot"],
    "profiler, cold": lambda row: sum(row["profiler_cold"]) / 2,
    "ours, cold": lambda row: row["ours"]["device cold"],
}
# Like beside like: do_bench flushes the cache before each run, do_bench_cudagraph does not.
SHORT_COLUMNS = ("do_bench", "ours, cold", "do_bench_cudagraph", "ours, hot", "torch Timer")


def write_tables(path: Path) -> None:
    """Write docs/figures/gpu_*.json from what a run on a GPU has kept."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from benchmarks.figures import write_figures

    results = json.loads(path.read_text())
    machine = results["machine"]
    if "modes" in results:
        taken = results["modes"]
        by_name = {name: [row for row in taken if row["operation"] == name] for name in SETUPS}
        table = {name: [span([get(row) for row in rows]) for get in COLUMNS.values()] for name, rows in by_name.items()}
        write_figures("gpu_modes", list(COLUMNS), table, kept=path, machine=machine)
        places = [list(COLUMNS).index(column) for column in SHORT_COLUMNS]
        short = {name: [table[name][place] for place in places] for name in SHORT_ROWS}
        write_figures("gpu_modes_short", list(SHORT_COLUMNS), short, kept=path, machine=machine)
        errors, own = [], []
        for row, kind in ((row, kind) for row in taken for kind in ("hot", "cold")):
            first, second = row[f"profiler_{kind}"]
            errors.append(abs(2 * row["ours"][f"device {kind}"] / (first + second) - 1.0))
            own.append(max(first, second) / min(first, second) - 1.0)
        values = [str(len(errors)), f"{100 * max(errors):.1f} %", f"{100 * max(own):.1f} %"]
        heads = ["comparisons", "worst error", "the profiler's own figures differ by up to"]
        write_figures("gpu_agreement", heads, {"agreement": values}, kept=path, machine=machine)
    if "ab" in results:
        rows = {}
        for name in AB_CASES:
            cells = []
            for what, is_found in (("+5 %", "slower"), ("identical", "")):
                (row,) = (row for row in results["ab"] if (row["case"], row["what"]) == (name, what))
                called = {word: n for word, n in row["verdicts"].items() if word in ("slower", "faster")}
                number = called.get(is_found, 0) if is_found else sum(called.values())
                walls = row["wall"]
                cells += [f"{number} of {len(walls)}", f"{min(walls):.1f} to {max(walls):.1f}"]
            rows[name] = cells
        heads = ["+5 % of work found", "seconds", "identical called different", "seconds"]
        write_figures("gpu_ab", heads, rows, kept=path, machine=machine)


def compat() -> None:
    import torch.utils.benchmark

    from photometer import Timer

    for name, (stmt, setup) in SETUPS.items():
        # In turn, five times: the host of a virtual machine has good and bad moments.
        theirs, ours = [], []
        for _ in range(5):
            theirs.append(torch.utils.benchmark.Timer(stmt, setup).blocked_autorange(min_run_time=0.1).median)
            ours.append(Timer(stmt, setup).blocked_autorange(min_run_time=0.1).median)
        print(
            f"blocked_autorange, {name}: torch {min(theirs) * 1e6:.2f} to {max(theirs) * 1e6:.2f} us, "
            f"photometer {min(ours) * 1e6:.2f} to {max(ours) * 1e6:.2f} us, "
            f"ratio of medians {statistics.median(ours) / statistics.median(theirs):.3f}"
        )


SHAPES = {
    "backward": (
        "loss = model(x).sum(); loss.backward()",
        "model = torch.nn.Linear(512, 512, device='cuda'); x = torch.randn(256, 512, device='cuda')",
    ),
    "compiled": (
        "f(x)",
        "f = torch.compile(lambda t: torch.nn.functional.gelu(t) * t + 1); x = torch.randn(2**20, device='cuda')",
    ),
    "waits": ("torch.relu(x).sum().item()", "x = torch.randn(2**20, device='cuda')"),
    "two streams": (
        "s.wait_stream(torch.cuda.current_stream())\nwith torch.cuda.stream(s):\n    b = torch.sin(y)\n"
        "a = torch.sin(x)\ntorch.cuda.current_stream().wait_stream(s)",
        "s = torch.cuda.Stream(); x, y = (torch.randn(2**24, device='cuda') for _ in range(2))",
    ),
    "keeps memory": ("kept.append(torch.sin(x))", "x = torch.randn(2**20, device='cuda'); kept = []"),
    "zeros": ("x @ y", "x, y = (torch.zeros(4096, 4096, device='cuda', dtype=torch.bfloat16) for _ in range(2))"),
    "many kernels": (
        "for _ in range(300): x.add_(1e-9)",
        "x = torch.randn(2**10, device='cuda')",
    ),
    "no device work": ("torch.add(x, x)", "x = torch.randn(10)"),
}


def shapes() -> None:
    from photometer import Timer
    from photometer.report.device_text import render_device

    for name, (stmt, setup) in SHAPES.items():
        start = time.perf_counter()
        found = Timer(stmt, setup, label=name).measure_device()
        print(render_device(found))
        print(f"  ({time.perf_counter() - start:.1f} s in all)\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["modes", "ab", "compat", "shapes"])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--null-trials", type=int, default=100)
    parser.add_argument("--figures", type=Path, metavar="FILE", help="Write docs/figures from what a run has kept.")
    asked = parser.parse_args()
    if asked.figures is not None:
        write_tables(asked.figures)
        return
    import torch

    if not torch.cuda.is_available():
        sys.exit("gpu_modes needs a CUDA device; there is none that this torch can use")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {time.strftime('%Y-%m-%d', time.gmtime())}")
    date = time.strftime("%Y-%m-%d", time.gmtime())
    results: dict[str, Any] = {"machine": f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {date}"}
    if "compat" in asked.parts:
        compat()
    if "modes" in asked.parts:
        results["modes"] = modes(asked.repetitions)
    if "ab" in asked.parts:
        results["ab"] = ab(asked.trials, asked.null_trials)
    if "shapes" in asked.parts:
        shapes()
    if os.environ.get("OUT"):
        (Path(os.environ["OUT"]) / f"gpu_{'_'.join(asked.parts)}.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main()
