"""Which estimator of a replicate is best? Several, over the same kept blocks of measured comparisons.

    python benchmarks/estimators.py --rounds 2                 take blocks, quiet, and keep them
    python benchmarks/estimators.py --rounds 2 --load          the same with a busy process on each core
    python benchmarks/estimators.py --report                   the tables of what has been kept so far
    python benchmarks/estimators.py --report --figures         write docs/figures/estimators.json, too

A comparison has 40 replicates of one statement of verdict_calibration.py, and is kept with every block of both sides.
Its kind is "itself" or "set-up reordered", where nothing differs, or "1 % more": a loop of 100 rounds against 101.

Each estimator makes one log-ratio of each replicate, and the comparisons are judged anew, in the order in which the
replicates were taken: "called" is slower or faster when measuring would have stopped. "+1 %" and "+3 %" are the
comparisons in which nothing differs, with all blocks of the second side made longer by as much. "±" is half the
interval of 20 replicates, and the scatter is the standard deviation of a replicate, both where nothing differs, as
geometric means over the comparisons.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.figures import write_figures
from benchmarks.verdict_calibration import STATEMENTS, busy_cores
from benchmarks.verdict_simulation import CALLED, ESTIMATORS, judged

from photometer.analysis.suite_judge import Question
from photometer.comparing.fork_sampler import ForkSampler
from photometer.instruments.contest import Contestants
from photometer.instruments.replicate import Side
from photometer.session.session import Session
from photometer.stats.replicate import replicate_interval
from photometer.worker.messages import Prepare

KEEP = Path("test-output/estimators.jsonl")
NOTHING_DIFFERS = ("itself", "set-up reordered")
KINDS = (*NOTHING_DIFFERS, "1 % more")
REPLICATES = 40
# Those of an interval: what a comparison usually takes.
USUAL = 20
ROUNDS, MORE_ROUNDS = 100, 101
# A hundred of these take less than a millisecond, so that a replicate has enough blocks.
QUICK = ("two dictionary look-ups", "join", "numel and dim", "view", "sigmoid of 8", "cat", "where", "layer norm")
PLANTED = {"+1 %": 0.01, "+3 %": 0.03}
# A block's time is kept to a millionth.
DIGITS = 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2, help="Comparisons per statement and kind (default: 2).")
    parser.add_argument("--replicates", type=int, default=REPLICATES, help=f"Of a comparison (default: {REPLICATES}).")
    parser.add_argument("--statement", choices=STATEMENTS, action="append", help="Only this one; repeat for more.")
    parser.add_argument("--load", action="store_true", help="Keep each core busy with another process.")
    parser.add_argument("--minutes", type=float, default=math.inf, help="Begin no comparison after so many minutes.")
    parser.add_argument("--keep", type=Path, default=KEEP, help=f"File of all comparisons (default: {KEEP}).")
    parser.add_argument("--report", action="store_true", help="Only print the tables of what the file has.")
    parser.add_argument("--figures", action="store_true", help="Write docs/figures/estimators.json, too.")
    parser.add_argument("--machine", default="", help="Where the file was made, if not here.")
    options = parser.parse_args()
    options.keep.parent.mkdir(parents=True, exist_ok=True)
    if not options.report:
        take(options)
    table = report([json.loads(line) for line in options.keep.read_text().splitlines()])
    if options.figures:
        write_figures("estimators", COLUMNS, table, kept=options.keep, machine=options.machine)


def take(options: argparse.Namespace) -> None:
    """Take comparisons round by round, so that a run that is stopped has all kinds."""
    names = options.statement or list(STATEMENTS)
    work = [
        (name, kind)
        for _ in range(options.rounds)
        for name in names
        for kind in KINDS
        if kind in NOTHING_DIFFERS or name in QUICK
    ]
    deadline = time.monotonic() + 60.0 * options.minutes
    with busy_cores() if options.load else contextlib.nullcontext(), Session() as session:
        for done, (name, kind) in enumerate(work):
            if time.monotonic() > deadline:
                return
            row = {"statement": name, "kind": kind, "loaded": options.load}
            row["replicates"] = compare(session, name, kind, options.replicates)
            with options.keep.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(f"{done + 1} of {len(work)}: {name}, {kind}", file=sys.stderr)


def compare(session: Session, name: str, kind: str, replicates: int) -> list[list[list[float]]]:
    """Return the seconds per run of the blocks of both sides, of each replicate."""
    stmt, lines = STATEMENTS[name]
    setup = "\n".join(lines)
    sides = {
        "itself": [(stmt, setup), (stmt, setup)],
        "set-up reordered": [(stmt, setup), (stmt, "\n".join(lines[::-1]))],
        "1 % more": [(f"for _ in range({rounds}): {stmt}", setup) for rounds in (ROUNDS, MORE_ROUNDS)],
    }[kind]
    sampler = ForkSampler([Contestants(tuple(Side(session, Prepare(*side)) for side in sides))])
    taken = [sampler.take(0, turn).seconds_per_run for turn in range(replicates)]
    return [[[float(f"{seconds:.{DIGITS}g}") for seconds in side] for side in each] for each in taken]


Array = np.ndarray
COLUMNS = ("comparisons", "scatter", "±", "called", "called of +1 %", "of +3 %", "of 1 % more", "replicates for +1 %")


def report(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Print a line for each estimator, quiet and loaded."""
    print("| machine | estimator | " + " | ".join(COLUMNS) + " |")
    print("| --- | --- |" + " ---: |" * len(COLUMNS))
    table = {}
    for load in (False, True):
        mine = [row for row in rows if row["loaded"] is load]
        for name in ESTIMATORS if mine else ():
            log_ratios: defaultdict[str, list[Array]] = defaultdict(list)
            for row in mine:
                log_ratios[row["kind"]].append(estimates(name, row["replicates"]))
            nothing = [each for kind in NOTHING_DIFFERS for each in log_ratios[kind]]
            values = figures_of(nothing, log_ratios[KINDS[-1]])
            machine = "loaded" if load else "quiet"
            table[f"{machine}, {name}"] = values
            print(f"| {machine} | {name} | " + " | ".join(values) + " |", flush=True)
    return table


def estimates(name: str, replicates: list[list[list[float]]]) -> Array:
    return np.array([ESTIMATORS[name](*(np.log(side) for side in each)) for each in replicates])


def figures_of(nothing: list[Array], more: list[Array]) -> list[str]:
    scatter = np.exp(np.mean([np.log(np.std(each, ddof=1)) for each in nothing]))
    intervals = [replicate_interval(each[:USUAL]) for each in nothing]
    half = np.exp(np.mean([np.log((high - low) / 2) for low, high in intervals]))
    planted = {name: called([each + math.log1p(by) for each in nothing]) for name, by in PLANTED.items()}
    false, _ = called(nothing)
    return [
        str(len(nothing)),
        f"{scatter:.2%}",
        f"{half:.2%}",
        f"{false} of {len(nothing)}",
        *(f"{found} of {len(nothing)}" for found, _ in planted.values()),
        f"{called(more)[0]} of {len(more)}",
        f"{planted['+1 %'][1]:.0f}",
    ]


def called(comparisons: list[Array]) -> tuple[int, float]:
    """Return how many would have been called slower or faster, and the median of the replicates that they took."""
    verdicts = [judged(each, Question(0.003, None)) for each in comparisons]
    return sum(v.verdict in CALLED for v in verdicts), float(np.median([v.replicates for v in verdicts] or [0]))


if __name__ == "__main__":
    main()
