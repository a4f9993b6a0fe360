"""Whether counts repeat exactly: the standard suite, counted by separate runs in surroundings that have nothing alike.

    python benchmarks/exactness.py [--quick] [--suite SUITE] [-k EXPRESSION] [--runs N] [--users-cache] [--warm]

Each run has another TMPDIR, an empty cache, a working folder of another length and another order of work; from the
second on there is a busy process on each core. `--users-cache` takes the first run's C++ from the user's cache, which
may have been compiled in other company. `--warm` adds a run by servers that another command has used and left warm.

Prints Markdown: how many orders have the same figures in all runs, and for each other order the functions that differ;
"only in all" means that only allocators and look-ups do. Exit status 1 if an order of one thread differs otherwise. All
168 orders take about ten minutes on two cores; `--quick` counts every seventh. `--figures` writes
docs/figures/exactness.json.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.figures import write_figures

from photometer.analysis.cause import by_function
from photometer.definition import load_suite
from photometer.errors import PhotometerError
from photometer.execution.local_executor import LocalExecutor
from photometer.execution.prepare import prepare
from photometer.instruments.callgrind.count_order import count_task_of
from photometer.instruments.callgrind.counter import InstructionCounter
from photometer.instruments.callgrind.figures import exclusive_counts, figures_of
from photometer.instruments.callgrind.layout_dependent import is_layout_dependent
from photometer.instruments.ready_order import ReadyOrder
from photometer.model.task import Language
from photometer.plan import materialize, select
from photometer.plan.work_order import WorkOrders
from photometer.session.session import Session

QUICK_STEP = 7
SHOWN_FUNCTIONS = 4
FIGURES = ("outside the allocator", "allocator calls", "total")

Counted = dict[str, dict[str, Any]]


def plan_of(asked: argparse.Namespace) -> WorkOrders:
    plan = select(materialize(load_suite(asked.suite), available_devices=("cpu",)), asked.expression)
    return plan.only(plan.orders[::QUICK_STEP]) if asked.quick else plan


def count_all(asked: argparse.Namespace) -> Counted:
    """Count every order once, in this process's session; two servers or so share the work."""
    plan = plan_of(asked)
    with Session() as session:
        prepared = prepare(plan, LocalExecutor(session), session.facts())
        counter = InstructionCounter(session)
        ready = list(prepared.ready.values())
        # Another order of work: what ran before must not matter.
        random.Random(asked.seed).shuffle(ready)

        def count(each: ReadyOrder) -> tuple[str, dict[str, Any]]:
            try:
                (profile,) = counter.count(count_task_of(each)).profiles
            except PhotometerError as error:
                return each.order.id, {"error": error.message}
            figures = figures_of(profile)
            return each.order.id, {
                "figures": [figures.outside_allocator, figures.allocator_calls, figures.total],
                "functions": {function: count for count, function in by_function(exclusive_counts(profile))},
            }

        with ThreadPoolExecutor(os.cpu_count()) as threads:
            return dict(threads.map(count, ready))


def busy(_: int) -> None:
    while True:
        pass


def run_apart(asked: argparse.Namespace, number: int, folder: Path, *, warm: bool = False) -> Counted:
    """Count in a process of its own, whose surroundings depend on `number`; with `warm` by servers that were used."""
    out = folder / f"counts-{number}.json"
    command = [sys.executable, str(Path(__file__).resolve()), "--write", str(out), "--seed", str(number)]
    command += ["--suite", asked.suite, *(["-k", asked.expression] if asked.expression else [])]
    command += ["--quick"] if asked.quick else []
    variables, place = dict(os.environ), Path.cwd()
    load: list[multiprocessing.Process] = []
    if number or not asked.users_cache:
        place = folder / ("elsewhere-" * (number + 1))
        (place / "tmp").mkdir(parents=True)
        variables |= {"TMPDIR": str(place / "tmp"), "PHOTOMETER_CACHE": str(place / "cache")}
        # The folder of warm servers is then in TMPDIR, too.
        variables.pop("XDG_RUNTIME_DIR", None)
    variables["PHOTOMETER_KEEP"] = "600" if warm else "0"
    if number:
        cores = range(0 if asked.no_load else os.cpu_count() or 1)
        load = [multiprocessing.Process(target=busy, args=(core,), daemon=True) for core in cores]
    for process in load:
        process.start()
    try:
        for _ in range(2 if warm else 1):
            start = time.monotonic()
            subprocess.run(command, env=variables, cwd=place, check=True)
            print(f"run {number + 1}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    finally:
        if warm:
            subprocess.run([sys.executable, "-m", "photometer", "warm", "--stop"], env=variables, check=False)
        for process in load:
            process.kill()
    counted: Counted = json.loads(out.read_text())
    return counted


def differing(first: dict[str, int], second: dict[str, int], *, may: bool = False) -> list[str]:
    """Return the functions that differ, the largest difference first: those that `may`, or those that should not."""
    changes = {name: second.get(name, 0) - first.get(name, 0) for name in {**first, **second}}
    changed = sorted((name for name, change in changes.items() if change), key=lambda name: -abs(changes[name]))
    return [f"{name} ({changes[name]:+,})" for name in changed if is_layout_dependent(name) is may]


def compare(plan: WorkOrders, runs: list[Counted]) -> int:
    """Print what agrees and what does not. Return how many orders of one thread differ outside the allocator."""
    agree = dict.fromkeys((*FIGURES, "every function outside the allocator"), 0)
    differences, wrong, counted = [], 0, 0
    for order in plan:
        taken = [run.get(order.id, {"error": "not prepared"}) for run in runs]
        errors = [each["error"] for each in taken if "error" in each]
        if errors:
            differences.append((order.title, errors[0]))
            continue
        counted += 1
        for place, name in enumerate(FIGURES):
            agree[name] += len({each["figures"][place] for each in taken}) == 1
        functions = next(
            (found for each in taken[1:] if (found := differing(taken[0]["functions"], each["functions"]))), []
        )
        agree["every function outside the allocator"] += not functions
        same = all(each["figures"][:2] == taken[0]["figures"][:2] for each in taken) and not functions
        wrong += not same and order.args.num_threads == 1
        if not same:
            figures = " / ".join(f"{each['figures'][0]:,}" for each in taken)
            more = f", {len(functions) - SHOWN_FUNCTIONS} more" if len(functions) > SHOWN_FUNCTIONS else ""
            differences.append((order.title, f"{figures}: {', '.join(functions[:SHOWN_FUNCTIONS])}{more}"))
        elif len(totals := dict.fromkeys(each["figures"][2] for each in taken)) > 1:
            other = next(each for each in taken if each["figures"][2] != taken[0]["figures"][2])
            functions = differing(taken[0]["functions"], other["functions"], may=True)[:SHOWN_FUNCTIONS]
            text = " / ".join(f"{total:,}" for total in totals)
            differences.append((order.title, f"only in all {text}: {', '.join(functions)}"))
    print(f"| {len(runs)} runs of {counted} orders | the same in all runs |\n| --- | ---: |")
    for name, number in agree.items():
        print(f"| {name} | {number} |")
    for title, text in differences:
        print(f"- {title}: {text}")
    return wrong


def figures_of_kinds(plan: WorkOrders, runs: list[Counted]) -> dict[str, list[str]]:
    """Return by language and number of threads: orders, and how many have the same figures in all runs."""
    table: dict[str, list[int]] = {}
    for order in plan:
        taken = [run[order.id]["figures"] for run in runs if "figures" in run.get(order.id, {})]
        if len(taken) < len(runs):
            continue
        threads = "one thread" if order.args.num_threads == 1 else f"{order.args.num_threads} threads"
        language = "Python" if order.args.language is Language.PYTHON else "C++"
        row = table.setdefault(f"{language}, {threads}", [0] * (1 + len(FIGURES)))
        row[0] += 1
        for place in range(len(FIGURES)):
            row[1 + place] += len({each[place] for each in taken}) == 1
    return {name: [str(number) for number in row] for name, row in table.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="standard")
    parser.add_argument("-k", dest="expression", default=None)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help=f"Count every {QUICK_STEP}th order.")
    parser.add_argument("--users-cache", action="store_true", help="Let the first run use the user's cache.")
    parser.add_argument("--warm", action="store_true", help="One more run, by servers that are warm.")
    parser.add_argument("--figures", action="store_true", help="Write docs/figures/exactness.json, too.")
    parser.add_argument("--no-load", action="store_true", help="Start no busy processes.")
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--write", type=Path, default=None, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.write is not None:
        asked.write.write_text(json.dumps(count_all(asked)))
        return
    with tempfile.TemporaryDirectory() as folder:
        runs = [run_apart(asked, number, Path(folder)) for number in range(asked.runs)]
        if asked.warm:
            runs.append(run_apart(asked, asked.runs, Path(folder), warm=True))
    if asked.figures:
        write_figures("exactness", ("orders", *FIGURES), figures_of_kinds(plan_of(asked), runs))
    sys.exit(1 if compare(plan_of(asked), runs) else 0)


if __name__ == "__main__":
    main()
