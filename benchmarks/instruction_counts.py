"""Instruction counts: how long 20 statements take, whether the counts repeat exactly, and what the layout does to them.

Prints ours beside torch.utils.benchmark's from the same run, as Markdown:

    python benchmarks/instruction_counts.py

torch's collect_callgrind is run for one statement and multiplied by 20, which is said in the table. About ten minutes
on two cores. `--quick` leaves out torch and takes two repetitions and three layouts.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from photometer.errors import PhotometerError
from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.callgrind.counter import count_many
from photometer.instruments.callgrind.layout_band import layout_bands
from photometer.instruments.cpp.build import build_snippets
from photometer.instruments.cpp.snippet import BuiltSnippet, CppSnippet
from photometer.model.task import TaskSpec
from photometer.session.layout import random_layouts

TENSORS = "x = torch.ones((4, 4)); w = torch.ones((4, 4))"
NATIVE_TENSORS = "auto x = torch::ones({4, 4}); auto w = torch::ones({4, 4});"
SCRIPT = "f = torch.jit.CompilationUnit('def f(x, w):\\n    return x * w + x\\n').f; " + TENSORS

# Name, statement, set-up. Names are unique: they are what the repetitions are compared by.
PYTHON_STATEMENTS = (
    ("multiply", "x * w", TENSORS),
    ("add a number", "x + 1", TENSORS),
    ("add in place", "x.add_(1)", TENSORS),
    ("empty", "torch.empty(2)", "pass"),
    ("sum", "x.sum()", TENSORS),
    ("softmax", "torch.softmax(x, 0)", "x = torch.ones(64)"),
    ("transpose", "x.t()", TENSORS),
    ("view", "x.view(-1)", TENSORS),
    ("index, one", "x[0]", TENSORS),
    ("index, slices", "x[0, 1:3]", TENSORS),
    ("index, tensor", "x[i]", TENSORS + "; i = torch.tensor([0, 2])"),
    ("assign", "x[0] = 1.0", TENSORS),
    ("mm", "torch.mm(x, w)", TENSORS),
    ("matmul, batched", "torch.matmul(a, b)", "a = torch.ones(8, 16, 16); b = torch.ones(8, 16, 16)"),
    ("nn.Linear", "m(x)", "m = torch.nn.Linear(8, 8); x = torch.ones(2, 8)"),
    ("nn.Conv2d", "m(x)", "m = torch.nn.Conv2d(3, 8, 3); x = torch.ones(1, 3, 16, 16)"),
    ("autograd", "(x * w).sum().backward()", TENSORS + "; w.requires_grad_()"),
    ("TorchScript", "f(x, w)", SCRIPT),
)
CPP_STATEMENTS = (
    ("C++ multiply", "auto y = x * w;", NATIVE_TENSORS),
    ("C++ view", "auto y = x.view({-1});", NATIVE_TENSORS),
)
# Each again with one thing more in it, whose few instructions must be seen every time.
ADDED = "; x is w"
WITH_ADDED = ("multiply", "view", "mm")

REPETITIONS = 5
LEFT_OUT = 4
LAYOUTS = 10
LARGEST_OUTSIDE_SPREAD = 0.001
LEAST_SPEED_UP = 30.0


def python_tasks() -> dict[str, CountTask]:
    return {name: CountTask(TaskSpec(stmt, setup, label=name)) for name, stmt, setup in PYTHON_STATEMENTS}


def cpp_tasks() -> dict[str, CountTask]:
    outcomes = build_snippets([CppSnippet(stmt, setup) for _, stmt, setup in CPP_STATEMENTS])
    tasks = {}
    for (name, stmt, setup), built in zip(CPP_STATEMENTS, outcomes, strict=True):
        if not isinstance(built, BuiltSnippet):
            raise built
        tasks[name] = CountTask(TaskSpec(stmt, setup, label=name), built=built)
    return tasks


def added_tasks() -> dict[str, CountTask]:
    texts = {name: (stmt, setup) for name, stmt, setup in PYTHON_STATEMENTS}
    return {
        name + ADDED: CountTask(TaskSpec(texts[name][0] + ADDED, texts[name][1], label=name + ADDED))
        for name in WITH_ADDED
    }


def count(tasks: dict[str, CountTask], servers: int | None = None) -> dict[str, list[int]]:
    """The three figures of every task."""
    counted = {}
    for name, outcome in zip(tasks, count_many(list(tasks.values()), servers=servers), strict=True):
        if isinstance(outcome, PhotometerError):
            raise outcome
        figures = outcome.stable
        counted[name] = [figures.total, figures.outside_allocator, figures.allocator_calls]
    return counted


def repetition(seed: int) -> None:
    """One repetition, in this process: another order, some left out. Prints JSON."""
    tasks = {**python_tasks(), **cpp_tasks(), **added_tasks()}
    source = random.Random(seed)
    names = sorted(tasks)
    source.shuffle(names)
    # Those with `x is w` stay, and what they are compared with.
    may_go = sorted(name for name in names if ADDED not in name and name not in WITH_ADDED)
    left_out = source.sample(may_go, LEFT_OUT) if seed else []
    kept = [name for name in names if name not in left_out]
    print(json.dumps(count({name: tasks[name] for name in kept}, servers=1)))


def repetitions(number: int) -> list[dict[str, list[int]]]:
    """Separate processes in separate folders, with environments of different sizes."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(separate_repetition, range(number)))


def separate_repetition(seed: int) -> dict[str, list[int]]:
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / ("deeper" * seed) / "still"
        where.mkdir(parents=True)
        (where / "a_file.py").write_text("")
        command = [sys.executable, str(Path(__file__).resolve()), "--repetition", str(seed)]
        environment = {**os.environ, "SOMETHING_OF_THE_USERS": "x" * 100 * seed}
        done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        result: dict[str, list[int]] = json.loads(done.stdout)
        return result


def torch_seconds() -> tuple[float, list[int]]:
    """torch's own tool on one statement, twice: the fewer seconds, and both counts."""
    from torch.utils.benchmark import Timer

    _, stmt, setup = PYTHON_STATEMENTS[0]
    # It runs whatever `python` is first on the PATH.
    path = os.environ["PATH"]
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{path}"
    counts, seconds = [], []
    for _ in range(2):
        begin = time.perf_counter()
        # Without the baseline, which torch counts once a process: 20 statements would share it.
        counts.append(Timer(stmt, setup).collect_callgrind(number=100, collect_baseline=False).counts())
        seconds.append(time.perf_counter() - begin)
    os.environ["PATH"] = path
    return min(seconds), counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetition", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.repetition is not None:
        repetition(options.repetition)
        return
    begin = time.perf_counter()
    native = cpp_tasks()
    build_seconds = time.perf_counter() - begin
    tasks = {**python_tasks(), **native}
    begin = time.perf_counter()
    counted = count(tasks)
    seconds = time.perf_counter() - begin
    failures = print_time(len(tasks), seconds, build_seconds, None if options.quick else torch_seconds())
    failures += print_repetitions(counted, repetitions(2 if options.quick else REPETITIONS))
    failures += print_layouts(tasks, 3 if options.quick else LAYOUTS)
    if failures:
        raise SystemExit("not as claimed: " + "; ".join(failures))


def print_time(number: int, seconds: float, build_seconds: float, peer: tuple[float, list[int]] | None) -> list[str]:
    print(f"\n{number} statements, 100 runs each, {len(os.sched_getaffinity(0))} cores\n")
    print("| | seconds | a statement |\n| --- | ---: | ---: |")
    print(f"| photometer, with the start of its servers | {seconds:.1f} | {seconds / number:.2f} |")
    print(f"| compiling the C++ statements (0 when cached) | {build_seconds:.1f} | |")
    if peer is None:
        return []
    one, counts = peer
    print(f"| torch.utils.benchmark, one statement times {number} (extrapolated) | {one * number:.0f} | {one:.1f} |")
    print(f"\n{one * number / seconds:.0f} times faster; torch counted the same statement twice as ", end="")
    print(f"{counts[0]:,} and {counts[1]:,}.")
    return [] if one * number / seconds >= LEAST_SPEED_UP else [f"less than {LEAST_SPEED_UP:.0f} times faster"]


def print_repetitions(first: dict[str, list[int]], results: list[dict[str, list[int]]]) -> list[str]:
    everything = [first, *results]
    different = [
        name
        for name in sorted({name for result in results for name in result})
        if len({tuple(result[name]) for result in everything if name in result}) > 1
    ]
    compared = sum(len(result) for result in results)
    print(
        f"\n{len(results)} repetitions in separate servers, processes, folders and orders: {compared} counts, ", end=""
    )
    print(f"{len(different)} statements with a count that is not identical{': ' if different else ''}", end="")
    print(", ".join(different) + ".")
    print(f"\n| added `{ADDED[2:]}`, instructions a run | outside the allocator | all |\n| --- | ---: | ---: |")
    failures = [f"{name} differs" for name in different]
    for name in WITH_ADDED:
        gains = [[(r[name + ADDED][k] - r[name][k]) / 100 for r in results] for k in (1, 0)]
        print(
            f"| {name} | "
            + " | ".join(", ".join(f"{gain:+.2f}" for gain in dict.fromkeys(row)) for row in gains)
            + " |"
        )
        if len(set(gains[0])) > 1 or gains[0][0] <= 0:
            failures.append(f"the addition to {name} is not the same positive number")
    return failures


def print_layouts(tasks: dict[str, CountTask], number: int) -> list[str]:
    bands = layout_bands(list(tasks.values()), random_layouts(number))
    print(f"\nSpread (largest less smallest) over {number} random layouts: sizes of the environment and hash seeds\n")
    print("| statement | all | outside the allocator | calls of it |\n| --- | ---: | ---: | ---: |")
    failures = []
    for name, band in zip(tasks, bands, strict=True):
        shares = (band.total_spread, band.outside_allocator_spread, band.allocator_calls_spread)
        print(f"| {name} | " + " | ".join(f"{share:.3%}" for share in shares) + " |")
        if band.outside_allocator_spread > LARGEST_OUTSIDE_SPREAD:
            failures.append(f"{name} spreads by more than {LARGEST_OUTSIDE_SPREAD:.1%} outside the allocator")
    return failures


if __name__ == "__main__":
    main()
