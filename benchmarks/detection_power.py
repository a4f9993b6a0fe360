"""How small a slow-down is found, how soon, and how often is one seen that is not there? Ours beside Timer and pyperf.

    python benchmarks/detection_power.py --quick                 every part, a few trials, some minutes
    python benchmarks/detection_power.py                         the full run, about 50 minutes
    python benchmarks/detection_power.py --part false-alarms --condition quiet --trials 150
    python benchmarks/detection_power.py --report                tables of what has been kept so far

Every trial is kept in a file (--keep) when it ends; a run that was stopped goes on where it was. Time is measuring
time: server starts are shared by all trials, and peers' imports are not counted. The truth of a change is the pooled
estimate over all trials of it. "loaded" means a busy process on every other core; for false alarms that is a second
row of comparisons, so that two are made at once.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from photometer.analysis.judge import Criteria
from photometer.comparing.calibrate import false_alarm_rate
from photometer.comparing.fork_sampler import ForkSampler
from photometer.comparing.verdict_loop import Sample, verdict_of_one
from photometer.instruments.contest import Contestants
from photometer.instruments.replicate import Side
from photometer.session.session import Session
from photometer.worker.messages import Prepare

SETUP = "x = torch.rand(8)\ny = torch.rand(8)\nn = 1"
STATEMENT = "torch.add(x, y)"  # about 1.2 us
IDENTICAL: dict[str, tuple[str, str]] = {
    "torch.add(x, y)": ("torch.add(x, y)", SETUP),
    "x[1:3]": ("x[1:3]", SETUP),
    "softmax of 1000": ("torch.softmax(x, 0)", "x = torch.rand(1000)"),
    "mm of 32 x 32": ("torch.mm(x, x)", "x = torch.rand(32, 32)"),
    "add, backward": ("(x * x).sum().backward()", "x = torch.rand(8, requires_grad=True)"),
    "sorted list": ("sorted(v)", "v = list(range(200))[::-1]"),
}
# What each change is to be found within, in seconds of measuring, and how often (quiet, loaded), as the issue asks.
BUDGETS = {"+5 ns": 10.0, "+10 ns": 10.0, "+100 ns": 1.0, "none": 10.0}
NANOSECONDS = {"+5 ns": 5.0, "+10 ns": 10.0, "+100 ns": 100.0}
# A copy of a local variable takes half a nanosecond to one: so many of them make any change.
EXTRA = "\nk = n"
PEER_LEVEL = 0.01
PEERS = ("Timer, disjoint IQRs", "Timer, Mann-Whitney", "pyperf compare_to")
FULL: dict[str, Any] = {
    "false-alarms": {"quiet": 120, "loaded": 190},
    "detection": {"+5 ns": 40, "+10 ns": 100, "+100 ns": 100},
    "timer": 4,
    "pyperf": 1,
}
QUICK: dict[str, Any] = {
    "false-alarms": {"quiet": 6, "loaded": 6},
    "detection": {"+5 ns": 3, "+10 ns": 4, "+100 ns": 4},
    "timer": 1,
    "pyperf": 0,
}
# They take a minute each, so they get the two questions that matter most.
PYPERF_EFFECTS = ("none", "+10 ns")

Trial = dict[str, Any]


class Kept:
    """Trials in a file, one a line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trials: list[Trial] = []
        self.read()

    def read(self) -> None:
        """All there is, also what another process has kept; a line torn by a kill is left out."""
        if self.path.exists():
            lines = self.path.read_text().splitlines()
            self.trials = [json.loads(line) for line in lines if line.strip().endswith("}")]

    def add(self, trial: Trial) -> None:
        self.trials.append(trial)
        with self.path.open("a") as file:
            file.write(json.dumps(trial) + "\n")

    def of(self, **fields: object) -> list[Trial]:
        return [trial for trial in self.trials if all(trial.get(name) == value for name, value in fields.items())]


def burn(core: int, parent: int) -> None:
    os.sched_setaffinity(0, [core])
    while os.getppid() == parent:
        sum(range(100_000))


@contextlib.contextmanager
def machine(condition: str, core: int) -> Iterator[None]:
    """Busy processes on all other cores, where the condition is loaded. The lock keeps other benchmarks away."""
    others = [other for other in sorted(os.sched_getaffinity(0)) if other != core]
    burners = [multiprocessing.Process(target=burn, args=(other, os.getpid()), daemon=True) for other in others]
    if condition == "loaded":
        for burner in burners:
            burner.start()
    try:
        yield
    finally:
        if condition == "loaded":
            for burner in burners:
                burner.terminate()
                burner.join()


def prepare(stmt: str, setup: str = SETUP) -> Prepare:
    return Prepare(stmt, setup)


class Duel:
    """Comparisons of two statements in one environment, whose servers are kept from one to the next."""

    def __init__(self, session: Session, core: int) -> None:
        self._session, self._core = session, core
        self._turn = 0

    def sampler(self, base: Prepare, branch: Prepare) -> ForkSampler:
        sides = (Side(self._session, base), Side(self._session, branch))
        return ForkSampler([Contestants(sides)], core=self._core)

    def compare(self, base: Prepare, branch: Prepare, budget: float) -> Trial:
        """One comparison as `photometer ab` makes it: until a verdict or the end of the budget."""
        taken: list[Sample] = []
        sampler = self.sampler(base, branch)
        first = self._turn

        class Watched:
            def sample(self, benchmark: int, turn: int) -> Sample:
                taken.append(sampler.sample(benchmark, first + turn))
                return taken[-1]

        verdict = verdict_of_one(Watched(), Criteria(), budget=budget)
        self._turn += len(taken)
        return {
            "verdict": verdict.verdict,
            "seconds": sum(sample.seconds for sample in taken),
            "base_seconds": verdict.base_seconds,
            "interval": [verdict.interval[0], min(verdict.interval[1], 1e9)],
            "log_ratios": [each.log_ratio for sample in taken if (each := sample.estimates[0])],
        }


@contextlib.contextmanager
def second_row(kept: Kept, core: int, trials: int) -> Iterator[None]:
    """As many comparisons on another core meanwhile: each row is the other's load, and both count."""
    other = next((c for c in sorted(os.sched_getaffinity(0)) if c != core), core)
    command = [sys.executable, __file__, "--part", "false-alarms", "--condition", "loaded", "--row", str(other)]
    command += ["--trials", str(trials), "--keep", str(kept.path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            yield
            process.wait()
        finally:
            process.terminate()
    kept.read()


def false_alarms(kept: Kept, duel: Duel, condition: str, core: int, trials: int) -> None:
    names = list(IDENTICAL)
    for number in range(len(kept.of(part="false-alarms", condition=condition, core=core)), trials):
        name = names[number % len(names)]
        both = prepare(*IDENTICAL[name])
        trial = duel.compare(both, both, BUDGETS["none"])
        kept.add({"part": "false-alarms", "condition": condition, "core": core, "statement": name, **trial})
        tell(f"{condition}, identical, {number + 1} of {trials}: {name}: {trial['verdict']}, {trial['seconds']:.1f} s")


def copies_for(kept: Kept, duel: Duel, effect: str) -> int:
    """How many extra copies make about this change; found once, by measuring, and kept."""
    known = kept.of(part="copies", effect=effect)
    if known:
        return int(known[0]["copies"])
    copies = round(NANOSECONDS[effect] / 0.7)
    while True:
        sampler = duel.sampler(prepare(STATEMENT), prepare(STATEMENT + EXTRA * copies))
        estimates = [each for turn in range(24) if (each := sampler.sample(0, turn).estimates[0])]
        change = statistics.median((e.seconds_per_run_b - e.seconds_per_run_a) * 1e9 for e in estimates)
        tell(f"{copies} copies are {change:+.1f} ns")
        # What is claimed for 5 ns must hold for 5 ns, so never more.
        if change <= NANOSECONDS[effect] or copies == 1:
            break
        copies = max(min(int(copies * NANOSECONDS[effect] / change), copies - 1), 1)
    kept.add({"part": "copies", "effect": effect, "copies": copies})
    return copies


def detection(kept: Kept, duel: Duel, condition: str, trials: dict[str, int]) -> None:
    for effect, wanted in trials.items():
        branch = prepare(STATEMENT + EXTRA * copies_for(kept, duel, effect))
        for number in range(len(kept.of(part="detection", condition=condition, effect=effect)), wanted):
            trial = duel.compare(prepare(STATEMENT), branch, BUDGETS[effect])
            kept.add({"part": "detection", "condition": condition, "effect": effect, **trial})
            tell(f"{condition}, {effect}, {number + 1} of {wanted}: {trial['verdict']} after {trial['seconds']:.1f} s")


TIMER = """
import json, os, sys
os.sched_setaffinity(0, [int(sys.argv[1])])
from torch.utils.benchmark import Timer
found = Timer(sys.argv[2], sys.argv[3]).blocked_autorange(min_run_time=float(sys.argv[4]))
print(json.dumps(found.times))
"""


def timer_times(core: int, stmt: str, seconds: float) -> list[float]:
    command = [sys.executable, "-c", TIMER, str(core), stmt, SETUP, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    times: list[float] = json.loads(done.stdout.splitlines()[-1])
    return times


def timer_verdicts(base: list[float], branch: list[float]) -> dict[str, str]:
    from scipy.stats import mannwhitneyu

    def quartiles(times: list[float]) -> tuple[float, float]:
        first, _, third = statistics.quantiles(times, n=4)
        return first, third

    (low_a, high_a), (low_b, high_b) = quartiles(base), quartiles(branch)
    by_quartiles = "slower" if low_b > high_a else "faster" if high_b < low_a else "same"
    p = float(mannwhitneyu(base, branch).pvalue)
    direction = "slower" if statistics.median(branch) > statistics.median(base) else "faster"
    return {PEERS[0]: by_quartiles, PEERS[1]: direction if p < PEER_LEVEL else "same"}


def pyperf_verdict(core: int, base: str, branch: str, seconds: float) -> str:
    """pyperf's own runs and its own test; five processes a side, values of 0.1 s."""
    values = max(round(seconds / 2 / 5 / 0.1), 1)
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder) / f"{side}.json") for side in ("base", "branch")]
        for stmt, file in zip((base, branch), files, strict=True):
            command = [sys.executable, "-m", "pyperf", "timeit", "--quiet", "-o", file, "--processes", "5"]
            command += [
                "--values",
                str(values),
                "--warmups",
                "1",
                "--affinity",
                str(core),
                "-s",
                "import torch\n" + SETUP,
            ]
            subprocess.run([*command, stmt], capture_output=True, check=True)
        told = subprocess.run(
            [sys.executable, "-m", "pyperf", "compare_to", *files], capture_output=True, text=True, check=True
        ).stdout
    return "slower" if "slower" in told else "faster" if "faster" in told else "same"


def peers(kept: Kept, duel: Duel, condition: str, core: int, timer_trials: int, pyperf_trials: int) -> None:
    """The same time for both sides together as ours has, one side after the other, each in fresh processes."""
    effects = ("none", *NANOSECONDS)
    copies = {effect: copies_for(kept, duel, effect) if effect != "none" else 0 for effect in effects}
    for effect in effects:
        stmt, seconds = STATEMENT + EXTRA * copies[effect], BUDGETS[effect]
        for _ in range(len(kept.of(part="peers", condition=condition, effect=effect, method=PEERS[0])), timer_trials):
            times = [timer_times(core, text, seconds / 2) for text in (STATEMENT, stmt)]
            for method, verdict in timer_verdicts(*times).items():
                keep_peer(kept, condition, effect, method, verdict)
        wanted = pyperf_trials if effect in PYPERF_EFFECTS else 0
        for _ in range(len(kept.of(part="peers", condition=condition, effect=effect, method=PEERS[2])), wanted):
            keep_peer(kept, condition, effect, PEERS[2], pyperf_verdict(core, STATEMENT, stmt, seconds))


def keep_peer(kept: Kept, condition: str, effect: str, method: str, verdict: str) -> None:
    kept.add({"part": "peers", "condition": condition, "effect": effect, "method": method, "verdict": verdict})
    tell(f"{condition}, {effect}, {method}: {verdict}")


def report(kept: Kept) -> None:
    conditions = [c for c in ("quiet", "loaded") if any(trial.get("condition") == c for trial in kept.trials)]
    print("\n## False alarms: identical statements called slower or faster\n")
    print("| machine | method | comparisons | alarms | rate | 95 % interval | same | undecided | seconds, median |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for condition in conditions:
        report_alarms(condition, "photometer", kept.of(part="false-alarms", condition=condition))
        for method in PEERS:
            report_alarms(condition, method, kept.of(part="peers", condition=condition, effect="none", method=method))
    report_alarms("both", "photometer", kept.of(part="false-alarms"))
    print("\n## Found: slow-downs of a statement of about 1.2 us\n")
    print(
        "| machine | change | within | method | trials | found | wrong way | measured change | seconds, median, 90 % |"
    )
    print("| --- | --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    for condition in conditions:
        for effect in NANOSECONDS:
            report_found(condition, effect, "photometer", kept.of(part="detection", condition=condition, effect=effect))
            for method in PEERS:
                trials = kept.of(part="peers", condition=condition, effect=effect, method=method)
                report_found(condition, effect, method, trials)
    report_coverage(kept)


def report_alarms(condition: str, method: str, trials: list[Trial]) -> None:
    if not trials:
        return
    words = [trial["verdict"] for trial in trials]
    rate = false_alarm_rate(words.count("slower") + words.count("faster"), len(words))
    seconds = f"{statistics.median(t['seconds'] for t in trials):.1f}" if "seconds" in trials[0] else "10.0"
    low, high = (f"{100 * end:.1f}" for end in rate.interval)
    print(
        f"| {condition} | {method} | {len(words)} | {rate.alarms} | {100 * rate.rate:.1f} % | {low} to {high} % "
        f"| {words.count('same')} | {words.count('undecided')} | {seconds} |"
    )


def report_found(condition: str, effect: str, method: str, trials: list[Trial]) -> None:
    if not trials:
        return
    words = [trial["verdict"] for trial in trials]
    change, seconds = "", f"{BUDGETS[effect]:.1f}"
    if "seconds" in trials[0]:
        spent = sorted(trial["seconds"] for trial in trials)
        seconds = f"{statistics.median(spent):.1f}, {spent[min(int(0.9 * len(spent)), len(spent) - 1)]:.1f}"
        base = statistics.median(trial["base_seconds"] for trial in trials)
        change = f"{1e9 * base * truth_of(trials):+.1f} ns ({100 * truth_of(trials):+.2f} %)"
    print(
        f"| {condition} | {effect} | {BUDGETS[effect]:g} s | {method} | {len(words)} "
        f"| {100 * words.count('slower') / len(words):.0f} % | {words.count('faster')} | {change} | {seconds} |"
    )


def truth_of(trials: list[Trial]) -> float:
    """The change by all replicates of all trials together."""
    return float(statistics.median(value for trial in trials for value in trial["log_ratios"]))


def report_coverage(kept: Kept) -> None:
    groups: dict[str, list[tuple[Trial, float]]] = defaultdict(list)
    for trial in kept.of(part="false-alarms"):
        groups["none"].append((trial, 0.0))
    for condition in ("quiet", "loaded"):
        for effect in NANOSECONDS:
            trials = kept.of(part="detection", condition=condition, effect=effect)
            groups[effect] += [(trial, truth_of(trials)) for trial in trials]
    print("\n## Intervals: stated 95 %, at the moment of the verdict\n")
    print("| change | intervals | contain the true change |\n| --- | ---: | ---: |")
    import math

    for effect, members in [*groups.items(), ("all", [member for group in groups.values() for member in group])]:
        if members:
            held = sum(t["interval"][0] <= math.exp(truth) <= t["interval"][1] for t, truth in members)
            print(f"| {effect} | {len(members)} | {100 * held / len(members):.1f} % |")


def tell(text: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def run(asked: argparse.Namespace, kept: Kept, core: int) -> None:
    counts = QUICK if asked.quick else FULL
    conditions = ("quiet", "loaded") if asked.condition == "both" else (asked.condition,)
    with Session() as session:
        duel = Duel(session, core)
        if asked.row is not None:
            false_alarms(kept, duel, "loaded", core, asked.trials)
            return
        for condition in conditions:
            if asked.part in ("all", "false-alarms"):
                trials = asked.trials if asked.trials is not None else counts["false-alarms"][condition]
                rows = 2 if condition == "loaded" else 1
                with second_row(kept, core, trials // rows) if rows > 1 else contextlib.nullcontext():
                    false_alarms(kept, duel, condition, core, trials - trials // rows * (rows - 1))
            with machine(condition, core):
                if asked.part in ("all", "detection"):
                    wanted = {e: n if asked.trials is None else asked.trials for e, n in counts["detection"].items()}
                    detection(kept, duel, condition, wanted)
                if asked.part in ("all", "peers"):
                    pyperf = counts["pyperf"] if asked.pyperf_trials is None else asked.pyperf_trials
                    peers(
                        kept, duel, condition, core, counts["timer"] if asked.trials is None else asked.trials, pyperf
                    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("all", "false-alarms", "detection", "peers"), default="all")
    parser.add_argument("--condition", choices=("both", "quiet", "loaded"), default="both")
    parser.add_argument("--trials", type=int, help="of each kind in this part; else as many as the full run has")
    parser.add_argument("--pyperf-trials", type=int, help="they take a minute each")
    parser.add_argument("--quick", action="store_true", help="a few trials of everything")
    parser.add_argument("--keep", type=Path, default=Path("detection_power.jsonl"), help="the file of trials")
    parser.add_argument("--report", action="store_true", help="only print the tables of what is kept")
    parser.add_argument("--row", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    kept = Kept(asked.keep)
    if not asked.report:
        run(asked, kept, sorted(os.sched_getaffinity(0))[-1] if asked.row is None else asked.row)
    report(kept)


if __name__ == "__main__":
    main()
