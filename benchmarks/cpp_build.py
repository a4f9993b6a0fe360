"""C++ snippets: what it costs to get started, ours beside torch's, and whether both measure the same time.

    python benchmarks/cpp_build.py            # about two minutes, most of it torch's compiling
    python benchmarks/cpp_build.py --no-torch # ours alone

torch's cost of twenty snippets is extrapolated from what its first ones cost: the real thing would take twelve minutes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from photometer.instruments.cpp.build import build_snippets
from photometer.instruments.cpp.snippet import BuiltSnippet, CppOptions, CppSnippet
from photometer.worker.native_loop import NativeLoop

X = "auto x = torch::ones({4, 4});"
XW = f"{X} auto w = torch::ones({{4, 4}});"
GRAD = "auto x = torch::ones({4, 4}, torch::requires_grad());"
SNIPPETS = [
    CppSnippet("auto y = x * w;", XW),
    CppSnippet("auto y = x.view({-1});", X),
    CppSnippet("auto y = torch::empty({0});"),
    CppSnippet("auto y = x + w;", XW),
    CppSnippet("x.add_(1);", X),
    CppSnippet("auto y = x.sum();", X),
    CppSnippet("auto y = torch::softmax(x, -1);", X),
    CppSnippet("auto y = torch::cat({x, w});", XW),
    CppSnippet("auto y = x.to(torch::kDouble);", X),
    CppSnippet("auto y = x.index({0, torch::indexing::Slice(1, 3)});", X),
    CppSnippet("auto y = x.t();", X),
    CppSnippet("auto y = torch::mm(x, w);", XW),
    CppSnippet("auto y = torch::relu(x);", X),
    CppSnippet("auto y = x.mean({0}, true);", X),
    CppSnippet("auto y = (x * x).sum(); y.backward();", GRAD),
    CppSnippet("auto y = torch::zeros({8, 8});"),
    CppSnippet("auto [values, indices] = x.max(0);", X),
    CppSnippet("auto y = f(x);", X, "torch::Tensor f(const torch::Tensor& t) { return t.relu().sum(); }"),
    CppSnippet("auto y = layer->forward(x);", f"torch::nn::Linear layer(4, 4); {X}"),
    CppSnippet("double s = 0; for (auto e : v) s += e;", "std::vector<double> v(1000, 1.0);"),
]
# Compared with torch's timer: a short, a middling and a longer statement. Each costs torch half a minute.
COMPARED = 3
BLOCKS = 200
BLOCK_SECONDS = 0.002


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-torch", action="store_true", help="leave torch's timer out")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        options = CppOptions(cache_folder=Path(folder) / "cpp")
        cold_seconds, built = timed_build(options)
        warm_seconds, _ = timed_build(options)
        start_seconds = cached_start(options)
        cores = len(os.sched_getaffinity(0))
        print(f"{len(SNIPPETS)} snippets on {cores} cores")
        print(f"  photometer, cold           {cold_seconds:8.1f} s")
        print(f"  photometer, all cached     {warm_seconds * 1e3:8.1f} ms")
        print(f"  photometer, one cached, from a running worker to its first block {start_seconds * 1e3:.1f} ms")
        if not chosen.no_torch:
            compare_with_torch(built, cold_seconds)


def timed_build(options: CppOptions) -> tuple[float, list[BuiltSnippet]]:
    start = time.perf_counter()
    outcomes = build_snippets(SNIPPETS, options=options)
    seconds = time.perf_counter() - start
    built = [outcome for outcome in outcomes if isinstance(outcome, BuiltSnippet)]
    if len(built) < len(outcomes):
        raise SystemExit("\n".join(str(outcome) for outcome in outcomes if not isinstance(outcome, BuiltSnippet)))
    return seconds, built


def cached_start(options: CppOptions) -> float:
    """In a fresh process that has imported torch: look one snippet up, load it, run its first block."""
    script = (
        "import sys, time, torch\nfrom pathlib import Path\n"
        "from photometer.instruments.cpp.build import build_snippets\n"
        "from photometer.instruments.cpp.snippet import CppOptions, CppSnippet\n"
        "from photometer.worker.native_loop import NativeLoop\n"
        "start = time.perf_counter()\n"
        f"(built,) = build_snippets([{SNIPPETS[0]!r}], options=CppOptions(cache_folder=Path(sys.argv[1])))\n"
        "assert built.cached\n"
        "NativeLoop(built.library, built.symbol).timeit(1)\n"
        "print(time.perf_counter() - start)"
    )
    command = [sys.executable, "-c", script, str(options.cache_folder)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def compare_with_torch(built: list[BuiltSnippet], cold_seconds: float) -> None:
    import torch
    from torch.utils.benchmark import Timer

    torch.set_num_threads(1)
    build_seconds, timers = [], []
    for snippet in SNIPPETS[:COMPARED]:
        start = time.perf_counter()
        timers.append(Timer(snippet.stmt, snippet.setup, global_setup=snippet.global_setup, language="cpp"))
        timers[-1].timeit(1)
        build_seconds.append(time.perf_counter() - start)
    one = statistics.median(build_seconds)
    print(f"  torch, one snippet         {one:8.1f} s (median of {COMPARED})")
    print(
        f"  torch, {len(SNIPPETS)} snippets         {one * len(SNIPPETS):8.1f} s (extrapolated: {len(SNIPPETS)} x one)"
    )
    print(f"  photometer is {one * len(SNIPPETS) / cold_seconds:.1f} times faster (asked: at least 25)")
    print("time of a run, blocks of both in turn")
    for snippet, timer, ours in zip(SNIPPETS, timers, built, strict=False):
        loop = NativeLoop(ours.library, ours.symbol)
        number = max(1, round(BLOCK_SECONDS / (loop.timeit(1000) / 1000)))
        pairs = [(loop.timeit(number) / number, timer.timeit(number).median) for _ in range(BLOCKS)]
        # The lower quartile: other work on the machine only ever adds time.
        mine, theirs = (statistics.quantiles(side, n=4)[0] for side in zip(*pairs, strict=True))
        sides = f"{mine * 1e9:9.1f} ns   torch {theirs * 1e9:9.1f} ns"
        print(f"  {snippet.stmt:<32} {sides}   {mine / theirs - 1:+.1%} (asked: within 3 %)")


if __name__ == "__main__":
    main()
