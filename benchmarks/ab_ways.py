"""Three ways to compare the same code: text in servers, callables in forks, callables in turn in one process.

    python benchmarks/ab_ways.py --quick                two statements, one round: does it run?
    python benchmarks/ab_ways.py --rounds 1             what docs/evidence-comparisons.md quotes

Each comparison runs in a fresh process of its own, because what differs between processes is what the ways differ in.
Every statement is compared with itself and with a version of it that does 1 to 10 % more. Printed per way: verdicts on
identical code (each slower or faster is false), verdicts on the version that does more, the scatter of the estimates
between processes, half the interval's width, and the seconds that a verdict took.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

WAYS = ("text in servers", "callables in forks", "callables in one process")
BUDGET_SECONDS = 6.0
QUICK_STATEMENTS = 2


@dataclasses.dataclass(frozen=True)
class Statement:
    """The code as text, and what is added to it in the version that does more."""

    setup: str
    stmt: str
    more: str


STATEMENTS = {
    "dictionary": Statement("d = {i: i for i in range(64)}", "d[7] + d[9] + d[11] + d[13]", "; d[15]"),
    "small add": Statement("x = torch.ones(16)", "torch.add(x, x)", "; x.dim()"),
    "softmax": Statement("x = torch.ones(4, 64)", "torch.softmax(x, 1)", "; x.size(0)"),
    "linear layer": Statement(
        "net = torch.nn.Linear(64, 64)\nx = torch.ones(8, 64)", "net(x)", "; x.numel(); x.dim(); x.size(0)"
    ),
    "sort of 1,000": Statement("x = (torch.arange(1000) * 7919 % 1009) / 1009", "x.sort()", "; x.sum()"),
    "product of 96 x 96": Statement("x = torch.ones(96, 96)", "x @ x", "; x.sum()"),
}


@dataclasses.dataclass(frozen=True)
class Outcome:
    way: str
    statement: str
    differs: bool
    verdict: str
    ratio: float
    half_width: float
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two statements, one round, one second each")
    parser.add_argument("--rounds", type=int, default=4, help="comparisons of each kind (default: 4)")
    parser.add_argument("--one", nargs=4, metavar=("WAY", "STATEMENT", "DIFFERS", "BUDGET"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        way, name, differs, budget = asked.one
        print(json.dumps(dataclasses.asdict(compare(way, name, differs == "True", float(budget)))))
        return
    names = list(STATEMENTS)[:QUICK_STATEMENTS] if asked.quick else list(STATEMENTS)
    rounds, budget = (1, 1.0) if asked.quick else (asked.rounds, BUDGET_SECONDS)
    outcomes = []
    for turn in range(rounds):
        for name in names:
            for differs in (False, True):
                # The ways in turn, so that all meet the same hours of the machine.
                outcomes += [in_a_fresh_process(way, name, differs, budget) for way in WAYS]
        print(f"round {turn + 1} of {rounds}", file=sys.stderr)
    show(outcomes)


def in_a_fresh_process(way: str, name: str, differs: bool, budget: float) -> Outcome:
    command = [sys.executable, __file__, "--one", way, name, str(differs), str(budget)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Outcome(**json.loads(done.stdout.splitlines()[-1]))


def compare(way: str, name: str, differs: bool, budget: float) -> Outcome:
    """Compare in this process."""
    import photometer
    from photometer.comparing import callables

    statement = STATEMENTS[name]
    other = statement.stmt + (statement.more if differs else "")
    began = time.perf_counter()
    if way == WAYS[0]:
        verdict = photometer.ab(statement.stmt, other, setup=statement.setup, budget=budget)
    else:
        if way == WAYS[2]:
            callables.accelerator_was_started = lambda: True
        verdict = photometer.ab(
            function_of(statement.setup, statement.stmt), function_of(statement.setup, other), budget=budget
        )
        assert ("one process" in verdict.measured_by) == (way == WAYS[2]), verdict.measured_by
    half_width = (verdict.interval[1] - verdict.interval[0]) / 2
    seconds = time.perf_counter() - began
    return Outcome(way, name, differs, verdict.verdict, verdict.ratio, half_width, seconds)


def function_of(setup: str, stmt: str) -> Callable[[], Any]:
    """Return a closure that runs the statement, as a user would write it: the set-up's variables are its own."""
    lines = [f"    {line}" for line in setup.splitlines()]
    text = "\n".join(["def make():", *lines, "    def run():", f"        {stmt}", "    return run"])
    names: dict[str, Any] = {"torch": torch}
    exec(text, names)
    made: Callable[[], Any] = names["make"]()
    return made


def show(outcomes: list[Outcome]) -> None:
    """Print a table of the ways, and whether two of them ever contradict each other."""
    print("| way | identical code | code that does more | scatter between processes | half interval | seconds |")
    print("| --- | --- | --- | ---: | ---: | ---: |")
    for way in WAYS:
        own = [outcome for outcome in outcomes if outcome.way == way]
        cells = [words(own, False), words(own, True), f"{100 * scatter(own):.2f} %"]
        cells.append(f"{100 * statistics.median(outcome.half_width for outcome in own):.2f} %")
        cells.append(f"{statistics.median(outcome.seconds for outcome in own):.1f}")
        print(f"| {way} | {' | '.join(cells)} |")
    print()
    for name in dict.fromkeys(outcome.statement for outcome in outcomes):
        for differs in (False, True):
            own = [outcome for outcome in outcomes if (outcome.statement, outcome.differs) == (name, differs)]
            found = {way: statistics.median(o.ratio for o in own if o.way == way) for way in WAYS}
            ratios = ", ".join(f"{way} {100 * (ratio - 1):+.2f} %" for way, ratio in found.items())
            called = {outcome.verdict for outcome in own} & {"slower", "faster"}
            conflict = "  CONTRADICTION" if len(called) > 1 else ""
            print(f"{name}, {'more work' if differs else 'itself'}: {ratios}{conflict}")


def words(outcomes: list[Outcome], differs: bool) -> str:
    found = Counter(outcome.verdict for outcome in outcomes if outcome.differs == differs)
    return ", ".join(f"{count} {word}" for word, count in sorted(found.items()))


def scatter(outcomes: list[Outcome]) -> float:
    """Return the median, over statements, of the standard deviation of the ratio between processes."""
    groups: dict[tuple[str, bool], list[float]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.statement, outcome.differs), []).append(outcome.ratio)
    return statistics.median(statistics.stdev(ratios) if len(ratios) > 1 else 0.0 for ratios in groups.values())


if __name__ == "__main__":
    main()
