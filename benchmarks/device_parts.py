"""The steps of benchmarks/device_session.py that are Python: `device_parts.py facts|callables|processes|do_bench`.

facts      what this machine has: torch, CUDA, driver, compilers, versions
callables  photometer.ab of functions, in a process that has started CUDA: host and device time, two and many
processes  how far apart processes are that run the same kernel, by events, by graphs of many runs, by the profiler
do_bench   photometer.testing.do_bench beside Triton's, with the same arguments, in turn
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import platform
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

PROCESSES = 10
# The profiler takes some seconds to attach, so only this many processes use it.
PROFILED = 4
LAYOUTS = 3
DO_BENCH_ROUNDS = 3
BLOCKS = 40
GRAPH_RUNS = 50
KERNELS = {
    "spin of 2 us": ("torch.cuda._sleep(3960)", "pass"),
    "add, 1 Ki": ("y = x + 1", "x = torch.randn(1024, device='cuda')"),
    "add, 2 Mi": ("torch.add(x, 1, out=y)", "x = torch.randn(2**21, device='cuda'); y = torch.empty_like(x)"),
    "softmax, 256": ("torch.softmax(x, -1)", "x = torch.randn(256, 256, device='cuda')"),
}


def facts() -> None:
    import torch

    print(f"Python {platform.python_version()}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    for tool in ("g++", "nvcc", "valgrind", "ninja", "git"):
        print(f"{tool}: {shutil.which(tool) or 'missing'}")
    for module in ("triton", "pytest", "numpy", "scipy", "rich", "typer", "msgspec", "jinja2", "pynvml", "sqlalchemy"):
        print(f"{module}: {'there' if importlib.util.find_spec(module) else 'missing'}")
    if torch.cuda.is_available():
        properties = torch.cuda.get_device_properties(0)
        print(f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB, {properties.multi_processor_count} SMs")


def callables() -> None:
    import torch

    import photometer

    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.randn(2048, 1024, device=device)

    def by_hand(x: torch.Tensor) -> torch.Tensor:
        raised = x.exp()
        return raised / raised.sum(-1, keepdim=True)

    def built_in(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, -1)

    def reported(title: str, call: Callable[[], object]) -> None:
        began = time.perf_counter()
        try:
            found = call()
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
        print(f"--- {title}: {time.perf_counter() - began:.1f} s\n{found}\n", flush=True)
        print(getattr(found, "measured_by", ""))

    named = {"built in": built_in, "by hand": by_hand, "exp": torch.exp}
    reported("wall time of two", lambda: photometer.ab(built_in, by_hand, args=(x,), budget=3.0))
    reported("device time of two", lambda: photometer.ab(built_in, by_hand, args=(x,), device="cuda", budget=5.0))
    reported("device time of many", lambda: photometer.ab(named, args=(x,), device="cuda", budget=10.0))
    reported("wall time of many", lambda: photometer.ab(named, args=(x,), budget=5.0))


def processes() -> None:
    """Fork processes that open the device one after the other; print how far they are apart, in per cent."""
    import torch  # noqa: F401 - before the forks, and without touching the device

    forks = multiprocessing.get_context("fork")
    found: list[dict[str, dict[str, list[float]]]] = []
    for number in range(PROCESSES):
        queue = forks.SimpleQueue()
        child = forks.Process(target=_measure_all, args=(queue, number < PROFILED))
        began = time.perf_counter()
        child.start()
        found.append(queue.get())
        child.join()
        print(f"process {number}: {time.perf_counter() - began:.1f} s", flush=True)
    print(f"\n{PROCESSES} processes, {LAYOUTS} set-ups each; medians in us, deviations in % of the median")
    print(f"{'kernel':16} {'by':8} {'median':>8} {'processes':>10} {'set-ups':>8}   medians of the processes")
    for kernel in KERNELS:
        for method in ("events", "graph", "profiler"):
            measured = [each[kernel][method] for each in found if each[kernel][method]]
            middles = [statistics.median(each) for each in measured]
            middle = statistics.median(middles)
            apart = statistics.stdev(middles) / middle * 100
            within = statistics.mean(statistics.stdev(each) / middle * 100 for each in measured)
            shown = " ".join(f"{each * 1e6:.3f}" for each in middles)
            print(f"{kernel:16} {method:8} {middle * 1e6:8.3f} {apart:9.2f}% {within:7.2f}%   {shown}")


def do_bench() -> None:
    """Print what both functions return for kernels of several lengths, and that they take the same arguments."""
    import torch
    import triton

    import photometer

    small, wide = torch.randn(1024, device="cuda"), torch.randn(2048, 1024, device="cuda")
    square, large = (torch.randn(size, size, device="cuda") for size in (2048, 8192))
    weight = torch.randn(1024, 1024, device="cuda", requires_grad=True)
    loss = (weight * 2).sum()
    cases: dict[str, tuple[Callable[[], object], dict[str, Any]]] = {
        "add, 1 Ki": (lambda: small + 1, {}),
        "softmax, 8 MB": (lambda: torch.softmax(wide, -1), {}),
        "matmul 2048": (lambda: square @ square, {}),
        "matmul 8192": (lambda: large @ large, {"rep": 300}),
        "backward": (lambda: loss.backward(retain_graph=True), {"grad_to_none": [weight]}),
    }
    print(f"microseconds, lowest to highest of {DO_BENCH_ROUNDS}\n{'':14} {'Triton':>20} {'photometer':>20}")
    for title, (run, options) in cases.items():
        theirs, ours = [], []
        for _ in range(DO_BENCH_ROUNDS):
            theirs.append(triton.testing.do_bench(run, return_mode="median", **options) * 1e3)
            ours.append(photometer.testing.do_bench(run, return_mode="median", **options) * 1e3)
        spans = [f"{min(each):.2f} to {max(each):.2f}" for each in (theirs, ours)]
        print(f"{title:14} {spans[0]:>20} {spans[1]:>20}", flush=True)
    both: tuple[Callable[..., Any], ...] = (triton.testing.do_bench, photometer.testing.do_bench)
    print("\nmilliseconds of softmax by Triton's and ours")
    run = cases["softmax, 8 MB"][0]
    for asked in ({"return_mode": mode} for mode in ("mean", "min", "max", "median")):
        print(f"{asked}: {[each(run, **asked) for each in both]}")
    for quantiles in ([0.5], [0.5, 0.2, 0.8]):
        print(f"quantiles {quantiles}: {[each(run, quantiles=quantiles) for each in both]}")
    print(f"values of 'all': {[len(each(run, return_mode='all')) for each in both]}")


def _measure_all(queue: Any, profiled: bool) -> None:
    import torch

    queue.put({name: _measure(torch, *code, profiled) for name, code in KERNELS.items()})


def _measure(torch: Any, stmt: str, setup: str, profiled: bool) -> dict[str, list[float]]:
    """Return the median seconds per run of several set-ups, by method."""
    from photometer.worker.device_blocks import DeviceBlocks

    found: dict[str, list[float]] = {"events": [], "graph": [], "profiler": []}
    kept = []
    for layout in range(LAYOUTS):
        # Another place in the device's memory for each set-up.
        kept.append(torch.empty((layout + 1) * 3 * 2**20 + 512 * layout, dtype=torch.int8, device="cuda"))
        namespace: dict[str, Any] = {"torch": torch}
        exec(setup, namespace)
        exec(f"def run(number):\n    for _ in range(number):\n        {stmt}", namespace)
        run = namespace["run"]
        blocks = DeviceBlocks(run, torch.cuda)
        blocks(GRAPH_RUNS)
        taken = [blocks(GRAPH_RUNS) / GRAPH_RUNS for _ in range(BLOCKS)]
        found["events"].append(statistics.median(taken))
        found["graph"].append(_by_graph(torch, run))
        if profiled:
            found["profiler"].append(_by_profiler(torch, run))
    return found


def _by_profiler(torch: Any, run: Callable[[int], None]) -> float:
    """Return the kernels' own time per run."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as session:
        run(GRAPH_RUNS)
        torch.cuda.synchronize()
    events = session.profiler.kineto_results.events()
    taken = [event.duration_ns() for event in events if event.device_type().name == "CUDA"]
    return sum(taken) * 1e-9 / GRAPH_RUNS


def _by_graph(torch: Any, run: Callable[[int], None]) -> float:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        run(3)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side):
            run(GRAPH_RUNS)
        taken = []
        for _ in range(BLOCKS):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(200_000)
            start.record()
            graph.replay()
            end.record()
            end.synchronize()
            taken.append(start.elapsed_time(end) / 1e3 / GRAPH_RUNS)
    return statistics.median(taken)


if __name__ == "__main__":
    {"facts": facts, "callables": callables, "processes": processes, "do_bench": do_bench}[sys.argv[1]]()
