"""How honest are the verdicts? Code compared with itself, with its set-up reordered, and with unused set-up added.

    python benchmarks/verdict_calibration.py --quick                     a few comparisons per statement
    python benchmarks/verdict_calibration.py --rounds 12                 500 comparisons and more
    python benchmarks/verdict_calibration.py --rounds 12 --load          with a busy process on each core
    python benchmarks/verdict_calibration.py --warm                      by servers that earlier comparisons left warm
    python benchmarks/verdict_calibration.py --workers 6                 on a machine with cores to spare
    python benchmarks/verdict_calibration.py --report                    the table of what has been kept so far

Nothing differs in what is executed, so every slower or faster is false, and every interval should hold 0. The
statements take 50 ns to 1 ms and are none of those in the other benchmarks. Every comparison is kept with its
replicates when it ends (--keep), so that other rules can be tried on the same data.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from photometer.analysis.judge import DEFAULT_MARGIN, Criteria
from photometer.comparing.calibrate import false_alarm_rate
from photometer.comparing.fork_sampler import ForkSampler
from photometer.comparing.verdict_loop import Sample, verdict_of_one
from photometer.instruments.contest import Contestants
from photometer.instruments.replicate import Side
from photometer.session.cores import usable_cores
from photometer.session.session import Session
from photometer.session.warm import VARIABLE, WarmFolder
from photometer.worker.messages import Prepare

# Statement and the lines of its set-up, which may stand in any order: no random numbers, so that no data depend on it.
STATEMENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "two dictionary look-ups": ("d[7] + d[9]", ("d = {i: i for i in range(50)}", "e = dict(d1=1)")),
    "join": ("'-'.join(words)", ("words = ['a', 'bc', 'def'] * 4", "z = 'x' * 99")),
    "numel and dim": ("x.numel() + x.dim()", ("x = torch.ones(4)", "y = torch.ones(40)")),
    "view": ("x.view(4, 4)", ("x = torch.ones(16)", "y = torch.ones(3, 3)")),
    "sigmoid of 8": ("x.sigmoid()", ("x = torch.ones(8)", "y = torch.ones(1000)")),
    "cat": ("torch.cat((x, y))", ("x = torch.ones(32)", "y = torch.ones(48)")),
    "where": ("torch.where(m, x, y)", ("x = torch.ones(64)", "y = torch.ones(64)", "m = torch.arange(64) % 3 > 0")),
    "layer norm": ("norm(x)", ("norm = torch.nn.LayerNorm(32)", "x = torch.ones(4, 32)")),
    "sort of 300": ("x.sort()", ("x = (torch.arange(300) * 7919 % 307) / 307", "y = torch.ones(77)")),
    "cumsum of 10,000": ("x.cumsum(0)", ("x = torch.ones(10_000)", "y = torch.ones(2_000)")),
    "embedding": ("e(i)", ("e = torch.nn.Embedding(100, 24)", "i = torch.arange(50)")),
    "GRU cell": ("g(x, h)", ("g = torch.nn.GRUCell(24, 24)", "x = torch.ones(4, 24)", "h = torch.ones(4, 24)")),
    "exp of 60,000": ("x.exp()", ("x = torch.ones(60_000)", "y = torch.ones(90_000)")),
    "rfft of 16,384": ("torch.fft.rfft(x)", ("x = torch.ones(16_384)", "y = torch.ones(5_000)")),
    "product of 180 x 180": ("x @ y", ("x = torch.ones(180, 180)", "y = torch.ones(180, 180)")),
    "sorting 4,000 numbers": ("sorted(v)", ("v = [(i * 7919) % 4001 for i in range(4000)]", "w = list(range(100))")),
}
KINDS = ("itself", "set-up reordered", "unused set-up")
UNUSED = ("unused = [torch.ones(n) for n in (3, 50, 700, 9_000)]", "more = {str(i): [i] * 9 for i in range(40)}")
QUICK_STATEMENTS = 4
BUDGET_SECONDS = 10.0
# "Same" is counted by what it is within: up to 0.3 %, up to 1 %, more.
BOUNDS = ((0.0, 0.003), (0.003, 0.01), (0.01, 0.1))
KEEP = Path("test-output/verdict-calibration.jsonl")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=12, help="Comparisons per statement and kind (default: 12).")
    parser.add_argument("--kind", choices=KINDS, action="append", help="Only this kind; repeat for more.")
    parser.add_argument("--quick", action="store_true", help="One round of a few statements.")
    parser.add_argument("--load", action="store_true", help="Keep each core busy with another process.")
    parser.add_argument("--warm", action="store_true", help="A session per comparison, with servers that stay warm.")
    parser.add_argument("--workers", type=int, default=1, help="Comparisons at the same time, each on its own core.")
    parser.add_argument("--budget", type=float, default=BUDGET_SECONDS, help="Seconds per comparison (default: 10).")
    parser.add_argument("--keep", type=Path, default=KEEP, help=f"File of all comparisons (default: {KEEP}).")
    parser.add_argument("--report", action="store_true", help="Only print the table of what the file has.")
    parser.add_argument("--figures", action="store_true", help="Write docs/figures/verdict_calibration.json, too.")
    parser.add_argument("--machine", default="", help="Where the file was made, if not here.")
    options = parser.parse_args()
    options.keep.parent.mkdir(parents=True, exist_ok=True)
    if not options.report:
        measure(options)
    report(options.keep, figures=options.figures, machine=options.machine)


def measure(options: argparse.Namespace) -> None:
    names = list(STATEMENTS)[:: len(STATEMENTS) // QUICK_STATEMENTS] if options.quick else list(STATEMENTS)
    rounds = 1 if options.quick else options.rounds
    # Round by round, so that a run that is stopped has all of them.
    work = [(name, kind) for _ in range(rounds) for kind in options.kind or KINDS for name in names]
    # One thread of work needs a core for the statement and, best, one for the process that asks.
    cores = usable_cores()[1 :: 2 if options.workers > 1 else 1] or usable_cores()
    shares = [work[worker :: options.workers] for worker in range(options.workers)]
    with busy_cores() if options.load else contextlib.nullcontext():
        processes = [
            multiprocessing.get_context("spawn").Process(
                target=compare_all,
                args=(share, cores[worker % len(cores)], options),
            )
            for worker, share in enumerate(shares)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()


def compare_all(work: list[tuple[str, str]], core: int, options: argparse.Namespace) -> None:
    with contextlib.ExitStack() as stack:
        # Cold: what the user keeps warm is not used. Warm: a folder of this worker's own, whose servers end with it.
        os.environ[VARIABLE] = "600" if options.warm else "0"
        if options.warm:
            os.environ["XDG_RUNTIME_DIR"] = stack.enter_context(tempfile.TemporaryDirectory(prefix="calibration"))
            stack.callback(lambda: WarmFolder(0.0).clear())
        session = None if options.warm else stack.enter_context(Session())
        for name, kind in work:
            with Session() if session is None else contextlib.nullcontext(session) as used:
                compare(used, name, kind, core, options)


def compare(session: Session, name: str, kind: str, core: int, options: argparse.Namespace) -> None:
    started = time.perf_counter()
    stmt, lines = STATEMENTS[name]
    other = {"itself": lines, "set-up reordered": lines[::-1], "unused set-up": (UNUSED[0], *lines, UNUSED[1])}
    sides = [Prepare(stmt, "\n".join(setup)) for setup in (lines, other[kind])]
    sampler = Remembering(ForkSampler([Contestants(tuple(Side(session, each) for each in sides))], core=core))
    verdict = verdict_of_one(sampler, Criteria(), budget=options.budget)
    row = {
        "statement": name,
        "kind": kind,
        "loaded": options.load,
        "warm": options.warm,
        "verdict": verdict.verdict,
        "within": verdict.bound,
        "ratio": verdict.ratio,
        "interval": verdict.interval,
        "seconds_per_run": verdict.base_seconds,
        "wall_seconds": time.perf_counter() - started,
        "log_ratios": [each.log_ratio for sample in sampler.samples if (each := sample.estimates[0])],
    }
    with options.keep.open("a") as file:
        file.write(json.dumps(row) + "\n")


class Remembering:
    """A sampler that keeps what it took."""

    def __init__(self, sampler: ForkSampler) -> None:
        self._sampler = sampler
        self.samples: list[Sample] = []

    def sample(self, benchmark: int, turn: int) -> Sample:
        self.samples.append(self._sampler.sample(benchmark, turn))
        return self.samples[-1]


@contextlib.contextmanager
def busy_cores() -> Iterator[None]:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=spin_on, args=(core,), daemon=True) for core in usable_cores()]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.terminate()


def spin_on(core: int) -> None:
    os.sched_setaffinity(0, {core})
    while True:
        sum(range(10_000))


def report(keep: Path, *, figures: bool = False, machine: str = "") -> None:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for line in keep.read_text().splitlines():
        row = json.loads(line)
        load = ("loaded" if row["loaded"] else "quiet") + (", warm servers" if row.get("warm") else "")
        keys = [(load, row["kind"]), (f"{load}, by statement", row["statement"])]
        # A set-up that leaves other objects behind is other code: it has a row of its own.
        keys += [(load, "identical code")] if row["kind"] != KINDS[2] else []
        for key in keys:
            groups[key].append(row)
    print(
        "| machine | what | comparisons | false alarms | probably | holds 0 | same within 0.3 % | 1 % | 10 % "
        "| undecided | replicates | wall |"
    )
    print("| --- |" + " --- |" * 11)
    table = {}
    for (load, what), rows in sorted(groups.items()):
        words = [row["verdict"] for row in rows]
        alarms = sum(word in ("slower", "faster") for word in words)
        rate = false_alarm_rate(alarms, len(rows))
        probable = sum(word.startswith("probably") for word in words)
        same = [row for row in rows if row["verdict"] == "same"]
        holds = sum(row["interval"][0] <= 1.0 <= row["interval"][1] for row in rows) / len(rows)
        walls = sorted(row["wall_seconds"] for row in rows)
        replicates = sorted(len(row["log_ratios"]) for row in rows)
        values = [
            str(len(rows)),
            f"{alarms} ({100 * rate.rate:.1f} %, at most {100 * rate.interval[1]:.1f})",
            f"{probable} ({100 * probable / len(rows):.1f} %)",
            f"{100 * holds:.1f} %",
            # Files of earlier versions have no bound: it was the margin.
            *(str(sum(low < (row.get("within") or DEFAULT_MARGIN) <= high for row in same)) for low, high in BOUNDS),
            str(words.count("undecided")),
            str(replicates[len(replicates) // 2]),
            f"{walls[len(walls) // 2]:.1f} s",
        ]
        print(f"| {load} | {what} | " + " | ".join(values) + " |")
        if "by statement" not in load:
            table[f"{load}, {what}"] = values
    if figures:
        columns = (
            *("comparisons", "called", "probably", "interval holds 0"),
            *("same within 0.3 %", "same within 1 %", "same within 10 %", "undecided", "replicates", "wall"),
        )
        from benchmarks.figures import write_figures

        write_figures("verdict_calibration", columns, table, kept=keep, machine=machine)


if __name__ == "__main__":
    main()
