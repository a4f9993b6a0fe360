"""How soon and how surely do comparisons decide? `photometer compare` of two revisions and `ab` of two statements.

    python benchmarks/decisions.py --quick                      every part once, some minutes
    python benchmarks/decisions.py --part unchanged --runs 20   one part
    python benchmarks/decisions.py --load                       with a busy process on each core
    python benchmarks/decisions.py --part gate --minutes 8      begin no run after that; again: the runs that are left
    python benchmarks/decisions.py --report                     the tables of what has been kept so far

A repository with 20 benchmarks is made in a temporary folder: a base, a commit with a comment, one with a renamed
variable, one with new functions elsewhere, and commits that each slow one function by 1 %. Seconds are on the wall,
from Enter until the first verdict is printed, the table, the causes, and the end. Every run is kept in a file (--keep),
which also says how many of a part's runs have been made: the same command goes on where it stopped.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.figures import write_figures
from benchmarks.verdict_calibration import busy_cores

from photometer.analysis.verdict import VERDICT_WORDS

KEEP = Path("test-output/decisions.jsonl")
FUNCTIONS = 20
PARTS = ("unchanged", "one-slower", "two", "gate", "ab", "no-ops", "standard", "two-threads")
# They take minutes each.
SUITE_PARTS = ("standard", "two-threads")
Row = dict[str, Any]

# Functions that can be slowed by 1 %: a loop of 100 rounds or more, and an operation of torch.
FUNCTION = """
def work_{number}(x, tensor):
    total = x
    for _ in range({rounds}):
        total = total {operation}
    return tensor + total
"""
OPERATIONS = ("+ x", "* 0.5", "- x", "+ 1.0")
SUITE = """
from photometer import GroupedSetup, GroupedStmts

BENCHMARKS = {{
    f"work {{number}}": GroupedStmts(
        f"work_{{number}}(x, tensor)",
        setup=GroupedSetup(
            py_setup=f"from samplenet.layers import work_{{number}}\\nx, tensor = 1.5, torch.ones({{2 + number}})"
        ),
    )
    for number in range({functions})
}}
"""
STATEMENTS = {
    "two dictionary look-ups": ("d[7] + d[9]", "d = {i: i for i in range(50)}\nk = 1"),
    "linear layer": ("m(v)", "m = torch.nn.Linear(64, 64)\nv = torch.ones(8, 64)"),
    "softmax": ("x.softmax(0)", "x = torch.ones(1000)\ny = torch.ones(500)"),
    "product of 300 x 300": ("big @ big", "big = torch.ones(300, 300)\nc = torch.nn.Conv2d(3, 8, 3)"),
    "convolution": ("c(img)", "img = torch.ones(1, 3, 64, 64)\nc = torch.nn.Conv2d(3, 8, 3)"),
    "backward": ("(w * w).sum().backward()", "w = torch.ones(64, 64, requires_grad=True)\nx = torch.ones(6, 6)"),
    "subtraction": ("torch.sub(x, y)", "x = torch.ones(6, 6)\ny = torch.ones(6, 6)"),
    "topk": ("x.topk(5)", "x = torch.arange(400.0)\ny = torch.ones(7)"),
    "batch norm": ("b(x)", "b = torch.nn.BatchNorm1d(32).eval()\nx = torch.ones(16, 32)"),
    "einsum": ("torch.einsum('ij,jk->ik', x, y)", "x = torch.ones(20, 30)\ny = torch.ones(30, 10)"),
    "copy of 200,000": ("x.clone()", "x = torch.ones(200_000)\ny = torch.ones(1_000)"),
    "string formatting": ("f'{a:.3f} {b}'", "a = 3.14159\nb = 'word'"),
}
# Two comparisons of names: 20 to 30 ns. They come after the statement and do not touch what it does.
NO_OPS = "; None is True; None is True"
# Orders of the standard suite that use two threads, and what each should be within when it is compared with itself.
TWO_THREADS, WITHIN = 16, 0.02
DIFFERENT = {"10 %": (1000, 1100), "1 %": (1000, 1010), "nothing": (1000, 1000)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, action="append", help="Only this part; may be given several times.")
    parser.add_argument(
        "--runs", type=int, help="Runs per part and kind (default: 20; no-ops 5; standard, two-threads 1)."
    )
    parser.add_argument("--quick", action="store_true", help="One run of all but the standard suite.")
    parser.add_argument("--load", action="store_true", help="Keep each core busy with another process.")
    parser.add_argument("--keep", type=Path, default=KEEP, help=f"File of all runs (default: {KEEP}).")
    parser.add_argument("--report", action="store_true", help="Only print the tables of what the file has.")
    parser.add_argument("--figures", action="store_true", help="Write docs/figures/decisions.json, too.")
    parser.add_argument("--minutes", type=float, default=math.inf, help="Begin no run after so many minutes.")
    options = parser.parse_args()
    options.keep.parent.mkdir(parents=True, exist_ok=True)
    if not options.report:
        parts = options.part or [part for part in PARTS if not options.quick or part not in SUITE_PARTS]
        with busy_cores() if options.load else contextlib.nullcontext():
            deadline = time.monotonic() + 60.0 * options.minutes
            mine = [row for row in kept_in(options.keep) if row["loaded"] is options.load and not options.quick]
            for row in measure(parts, 1 if options.quick else options.runs, Counter(row["part"] for row in mine)):
                row["loaded"] = options.load
                with options.keep.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(json.dumps(row), file=sys.stderr)
                if time.monotonic() > deadline and row.get("is_last", True):
                    print("To be continued: run the same command again.", file=sys.stderr)
                    break
    kept = kept_in(options.keep)
    report(kept)
    if options.figures:
        columns = ("runs", "as it should be", "first verdict", "table", "cause", "end")
        write_figures("decisions", columns, figures_of(kept), kept=options.keep)


def kept_in(file: Path) -> list[Row]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def measure(parts: list[str], runs: int | None, made: Counter[str]) -> Iterator[Row]:
    """Make the runs of each part that have not been made; those of a part are made in the same order every time."""
    with tempfile.TemporaryDirectory(prefix="decisions") as folder:
        # Counts kept by earlier comparisons of the user's own would spoil the first runs.
        os.environ["PHOTOMETER_CACHE"] = str(Path(folder) / "cache")
        repository = Repository(Path(folder) / "repository")
        for part in parts:
            measured: dict[str, Callable[[range], Iterator[Row]]] = {
                "unchanged": lambda left: unchanged(repository, left),
                "one-slower": lambda left: one_slower(repository, left),
                "two": lambda left: two_benchmarks(repository, left),
                "gate": lambda left: gate_at_five(repository, left),
                "ab": statements_that_differ,
                "no-ops": no_ops,
                "standard": lambda left: standard(repository, left),
                "two-threads": two_threads,
            }
            # A run of these has several rows.
            each = {"ab": len(DIFFERENT), "no-ops": 2 * len(STATEMENTS), "two-threads": TWO_THREADS}.get(part, 1)
            usual = {"no-ops": 5, "standard": 1, "two-threads": 1}.get(part, 20)
            for row in measured[part](range(made[part] // each, runs or usual)):
                yield {"part": part, **row}


class Repository:
    """A git repository with a package and a suite."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "samplenet").mkdir(parents=True)
        (folder / "samplenet" / "__init__.py").touch()
        # Beside the repository's code: both sides run the same suite.
        self.suite = folder.parent / "suite.py"
        self.suite.write_text(SUITE.format(functions=FUNCTIONS))
        self._git("init", "-q", "-b", "main")
        self.base = self.commit(self.code())

    def code(self, slower: int | None = None) -> str:
        rounds = [100 + 10 * number for number in range(FUNCTIONS)]
        if slower is not None:
            # The loop is two thirds of the time and more.
            rounds[slower] = round(rounds[slower] * 1.015 + 0.49)
        return '"""Layers."""\n' + "".join(
            FUNCTION.format(number=number, rounds=rounds[number], operation=OPERATIONS[number % len(OPERATIONS)])
            for number in range(FUNCTIONS)
        )

    def commit(self, code: str) -> str:
        (self.folder / "samplenet" / "layers.py").write_text(code)
        self._git("add", "-A")
        self._git("commit", "-q", "--allow-empty", "-m", "a change")
        return self._git("rev-parse", "HEAD").strip()

    def _git(self, *words: str) -> str:
        who = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@example.com")
        return subprocess.run(["git", *who, *words], cwd=self.folder, check=True, capture_output=True, text=True).stdout


def compare(repository: Repository, base: str, branch: str, *options: str, suite: str = "") -> Row:
    """Run the command, and note when what was printed."""
    words = ["compare", base, branch, "--suite", suite or str(repository.suite), *options]
    command = [sys.executable, "-m", "photometer", *words]
    started = time.monotonic()
    row: Row = {"first": None, "table": None, "cause": None, "slower": []}
    process = subprocess.Popen(
        command, cwd=repository.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        seconds = time.monotonic() - started
        line = line.removeprefix("photometer:").lstrip()
        word = next((each for each in VERDICT_WORDS if line.startswith(each)), "")
        if word and row["first"] is None:
            row["first"] = seconds
        if line.startswith(("Nothing is", "The branch is slower", "Undecided", "Something failed")):
            row["table"], row["headline"] = seconds, line.strip()
        if line.startswith("Why:"):
            row["cause"] = seconds
        if row["table"] is None and word in ("slower", "faster"):
            row["slower"].append(line.strip())
    row["exit"], row["wall"] = process.wait(), time.monotonic() - started
    return row


def unchanged(repository: Repository, runs: range) -> Iterator[Row]:
    code = repository.code()
    changes = {
        "comment": code.replace("def work_3", "# A comment.\ndef work_3"),
        "rename": code.replace("total", "result"),
        "new functions": code + "".join(f"\n\ndef unused_{n}(x):\n    return x + {n}\n" for n in range(40)),
    }
    for run in runs:
        kind = list(changes)[run % len(changes)]
        branch = repository.commit(changes[kind])
        yield {
            # The cache is this process's own.
            "kind": kind if run > runs.start else f"{kind}, base counted for the first time",
            **compare(repository, f"git:{repository.base}", f"git:{branch}"),
        }


def one_slower(repository: Repository, runs: range) -> Iterator[Row]:
    for run in runs:
        which = (7 * run) % FUNCTIONS
        branch = repository.commit(repository.code(slower=which))
        row = compare(repository, f"git:{repository.base}", f"git:{branch}", "--layouts", "1")
        title = f"work {which}"
        named = [line for line in row["slower"] if title in line.split("  ")[-1].split(" [")[0]]
        yield {"kind": "1 %", "found": bool(named), "others": len(row["slower"]) - len(named), **row}


def two_benchmarks(repository: Repository, runs: range) -> Iterator[Row]:
    for run in runs:
        branch = repository.commit(repository.code().replace("range(130)", f"range({150 + run})"))
        with tempfile.TemporaryDirectory() as folder:
            options = ("-k", "'work 3' or 'work 4'", "-o", folder)
            yield {"kind": "two", **compare(repository, f"git:{repository.base}", f"git:{branch}", *options)}


def gate_at_five(repository: Repository, runs: range) -> Iterator[Row]:
    """All 20 benchmarks execute other instructions and take the same time: a gate at 5 % must pass, and soon."""
    branch = repository.commit(repository.code().replace("    return tensor", "    None is x\n    return tensor"))
    for _ in runs:
        row = compare(repository, f"git:{repository.base}", f"git:{branch}", "--fail-on", "slower:5%,undecided")
        yield {"kind": "slower:5%", **row}


def statements_that_differ(runs: range) -> Iterator[Row]:
    for run in runs:
        for kind, (first, second) in DIFFERENT.items():
            statements = [f"for _ in range({rounds}): x + 1" for rounds in (first, second)]
            if run % 2:
                statements = [f"sum(range({rounds * 20}))" for rounds in (first, second)]
            row = ab(statements[0], statements[1], "x = 1.5")
            yield {"kind": kind, **row, "wrong": row["verdict"] != ("same" if kind == "nothing" else "slower")}


def no_ops(runs: range) -> Iterator[Row]:
    for run in runs:
        order = random.Random(run + 1)
        for name, (stmt, setup) in STATEMENTS.items():
            lines = setup.splitlines()
            reordered = order.sample(lines[::-1], len(lines))
            yield {
                "kind": "set-up reordered",
                "statement": name,
                **_judged(ab(stmt, stmt, setup, "\n".join(reordered))),
            }
            added = ab(stmt, stmt + NO_OPS, setup)
            # They do take their nanoseconds: slower by more than these is wrong, and faster is.
            allowed = 1.0 + 40e-9 / max(added["base"], 1e-9)
            wrong = added["verdict"] == "faster" or (added["verdict"] == "slower" and added["ratio"] > allowed + 0.003)
            yield {"kind": "no-ops added", "statement": name, **added, "wrong": wrong}


def _judged(row: Row) -> Row:
    return {**row, "wrong": row["verdict"] in ("slower", "faster")}


def ab(first: str, second: str, setup: str, setup_b: str | None = None) -> Row:
    """Run the command, as a user does."""
    words = ["ab", first, second, "-s", setup, "--json"]
    words += [] if setup_b is None else ["--setup-b", setup_b]
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "photometer", *words], capture_output=True, text=True, check=True)
    wall = time.monotonic() - started
    verdict = _find_verdict(json.loads(done.stdout))
    return {
        "verdict": verdict["verdict"],
        "within": verdict.get("within"),
        "ratio": verdict["ratio"],
        "replicates": verdict["replicates"],
        "base": verdict["base_seconds"],
        "wall": wall,
    }


def _find_verdict(found: Any) -> dict[str, Any]:
    """Return the one verdict in the command's JSON, wherever it stands."""
    if isinstance(found, dict):
        if "verdict" in found and "replicates" in found:
            return found
        found = list(found.values())
    for each in found if isinstance(found, list) else ():
        with contextlib.suppress(LookupError):
            return _find_verdict(each)
    raise LookupError("no verdict")


def standard(repository: Repository, runs: range) -> Iterator[Row]:
    for _ in runs:
        yield {"kind": "standard", **compare(repository, "current", "current", "--flame", "none", suite="standard")}


def two_threads(runs: range) -> Iterator[Row]:
    """Compare the standard suite's orders of two threads with themselves: all should be the same within 2 %."""
    words = ["compare", "current", "current", "--suite", "standard", "-k", "threads=2", "--flame", "none", "--json"]
    for _ in runs:
        started = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "photometer", *words], stdout=subprocess.PIPE, text=True, check=False
        )
        wall = time.monotonic() - started
        found = json.loads(done.stdout)
        for number, each in enumerate(found, 1):
            verdict, within = each["verdict"]["verdict"], each["verdict"].get("within")
            wrong = verdict != "identical" and not (verdict == "same" and within <= WITHIN)
            row = {"kind": "an order with itself", "title": each["title"], "verdict": verdict, "within": within}
            row |= {"interval": each["verdict"].get("interval"), "wrong": wrong, "wall": wall}
            yield {**row, "is_last": number == len(found)}


def report(rows: list[Row]) -> None:
    for load in (False, True):
        mine = [row for row in rows if row["loaded"] is load]
        if not mine:
            continue
        print(f"\n### {'With a busy process on each core' if load else 'Nothing else running'}\n")
        print("| part | kind | runs | as it should be | first verdict | table | cause | end |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for part in PARTS:
            for kind in dict.fromkeys(row["kind"] for row in mine if row["part"] == part):
                group = [row for row in mine if row["part"] == part and row["kind"] == kind]
                good = sum(_is_good(row) for row in group)
                times = " | ".join(_median(group, key) for key in ("first", "table", "cause", "wall"))
                print(f"| {part} | {kind} | {len(group)} | {good} | {times} |")


def figures_of(rows: list[Row]) -> dict[str, list[str]]:
    """Return the table by part and kind, quiet runs first."""
    groups: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["loaded"], PARTS.index(row["part"]))):
        load = ", loaded" if row["loaded"] else ""
        groups.setdefault(f"{row['part']}: {row['kind']}{load}", []).append(row)
    return {
        name: [
            str(len(group)),
            str(sum(_is_good(row) for row in group)),
            *(_median(group, key) for key in ("first", "table", "cause", "wall")),
        ]
        for name, group in groups.items()
    }


def _is_good(row: Row) -> bool:
    if row["part"] in ("unchanged", "gate", "standard"):
        return bool(row["exit"] == 0)
    if row["part"] == "one-slower":
        return bool(row["found"]) and row["others"] == 0
    if row["part"] == "two":
        return bool(row["exit"] == 3)
    return not row["wrong"]


def _median(rows: list[Row], key: str) -> str:
    known = sorted(row[key] for row in rows if row.get(key) is not None)
    return f"{known[len(known) // 2]:.1f} s (at most {known[-1]:.1f})" if known else "–"


if __name__ == "__main__":
    main()
