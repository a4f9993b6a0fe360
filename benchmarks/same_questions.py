"""The same questions to five tools: what has changed between two revisions of a small package?

    python benchmarks/same_questions.py --peers VENV                    quiet, every tool
    python benchmarks/same_questions.py --peers VENV --load             with a busy process on each core
    python benchmarks/same_questions.py --peers VENV --tool pyperf --minutes 9
    python benchmarks/same_questions.py --peers VENV --planted 3        are the tools' tables read right?
    python benchmarks/same_questions.py --report --figures              the table of what has been kept so far

VENV has asv, pyperf, pytest-benchmark and virtualenv. The package has twenty functions of plain Python, 1.5 to 17 us
each. Three revisions: the base; one that adds a comment; one in which one function does 3 % more work and another one
10 %, or, with --planted 3, both do three times the work, which every tool must find. Every tool compares the base with
both, in the way that its documentation recommends for finding regressions:

    torch            Timer.blocked_autorange, a process per revision; changed if the interquartile ranges are disjoint
    pyperf           bench_func with all defaults, then compare_to, which tests for significance
    pytest-benchmark --benchmark-save, then --benchmark-compare-fail=mean:5%
    asv              continuous --interleave-rounds, with a factor of 1.05 in place of its own 1.1
    photometer       compare

"Called" counts a benchmark that the tool calls slower or faster. Wall time is of both comparisons together.

A tool does its work in steps, such as the measurement of one revision. Each finished step is kept in --folder, with the
time that it took, and a run that was stopped, or whose --minutes are over, is continued by the same command. When a
tool has done all of its steps, they become a line of --keep, and the next run of it begins anew.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.figures import write_figures
from benchmarks.verdict_calibration import busy_cores

KEEP = Path("test-output/same_questions.jsonl")
FOLDER = Path("test-output/same_questions")
# Commits, and so their names, are the same in each run: steps that are kept stay of use.
COMMITTED = "2026-01-01T00:00:00+00:00"
TOOLS = ("torch", "pyperf", "pytest-benchmark", "asv", "photometer")
FUNCTIONS = 20
BY_THREE, BY_TEN = 7, 13
BODIES = (
    "total = total * 0.5 + 1.0",
    "total += len(str(total))",
    "total += len(sorted((5, 3, 9, 1, 7)))",
    "total += len({'a': 1, 'b': 2, 'c': total})",
    "total += sum([1, 2, 3, 4])",
)
Called = set[int]


@dataclasses.dataclass(frozen=True)
class Revisions:
    """The repository, and the commits to compare."""

    repository: Path
    base: str
    comment: str
    slower: str

    @property
    def named(self) -> tuple[tuple[str, str], ...]:
        return (("base", self.base), ("comment", self.comment), ("slower", self.slower))


class OutOfTime(Exception):
    """Another step may not fit into the minutes that are left."""


class Steps:
    """The finished steps of one tool: what each returned, and its seconds. They are kept in a file."""

    def __init__(self, file: Path, deadline: float) -> None:
        self._file, self._deadline = file, deadline
        self._done: dict[str, tuple[Any, float]] = json.loads(file.read_text()) if file.exists() else {}

    def do(self, name: str, work: Callable[[], Any]) -> Any:
        """Return what the step returned, now or in an earlier run."""
        if name not in self._done:
            # One step of a tool takes about as long as another.
            if time.monotonic() + max((seconds for _, seconds in self._done.values()), default=0.0) > self._deadline:
                raise OutOfTime
            started = time.monotonic()
            found = work()
            self._done[name] = (found, time.monotonic() - started)
            self._file.write_text(json.dumps(self._done))
        return self._done[name][0]

    @property
    def seconds(self) -> float:
        return sum(seconds for _, seconds in self._done.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, help="Environment that has the other tools.")
    parser.add_argument("--tool", choices=TOOLS, action="append", help="Only this one; may be given several times.")
    parser.add_argument("--load", action="store_true", help="Keep each core busy with another process.")
    parser.add_argument("--keep", type=Path, default=KEEP, help=f"File of all runs (default: {KEEP}).")
    parser.add_argument("--minutes", type=float, default=math.inf, help="Begin no step that may end later.")
    parser.add_argument("--planted", type=float, help="The slower functions do so many times the work.")
    parser.add_argument("--folder", type=Path, default=FOLDER, help=f"Steps of unfinished runs (default: {FOLDER}).")
    parser.add_argument("--report", action="store_true", help="Only print the table of what the file has.")
    parser.add_argument("--figures", action="store_true", help="Write docs/figures/same_questions.json, too.")
    options = parser.parse_args()
    options.keep.parent.mkdir(parents=True, exist_ok=True)
    if not options.report:
        try:
            measure(options)
        except OutOfTime:
            print("To be continued: run the same command again.", file=sys.stderr)
    if not options.keep.exists():
        return
    rows = report([json.loads(line) for line in options.keep.read_text().splitlines()])
    if options.figures:
        columns = ("nothing changed: called", "3 %", "10 %", "others called", "wall time")
        write_figures("same_questions", columns, rows, kept=options.keep)


def measure(options: argparse.Namespace) -> None:
    deadline = time.monotonic() + 60.0 * options.minutes
    for tool in options.tool or TOOLS:
        kind = "loaded" if options.load else "quiet"
        folder = options.folder.absolute() / f"{tool}-{kind}-{options.planted or 'small'}"
        os.environ["PHOTOMETER_CACHE"] = str(folder / "cache")
        revisions = make_repository(folder / "small", options.planted)
        with busy_cores() if options.load else contextlib.nullcontext():
            row = ask(tool, revisions, folder, options.peers, deadline)
        shutil.rmtree(folder)
        row |= {"loaded": options.load, "planted": options.planted}
        with options.keep.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(json.dumps(row), file=sys.stderr)


def ask(tool: str, revisions: Revisions, place: Path, peers: Path | None, deadline: float) -> dict[str, Any]:
    """Let a tool compare the base with both other revisions."""
    steps = Steps(place / "steps.json", deadline)
    python = Path(sys.executable) if peers is None else peers.absolute() / "bin" / "python"
    by_tool: dict[str, Callable[[], tuple[Called, Called, str]]] = {
        "torch": lambda: ask_torch(revisions, place, steps),
        "pyperf": lambda: ask_pyperf(revisions, place, python, steps),
        "pytest-benchmark": lambda: ask_pytest_benchmark(revisions, place, python, steps),
        "asv": lambda: ask_asv(revisions, place, python, steps),
        "photometer": lambda: ask_photometer(revisions, place, steps),
    }
    unchanged, slower, version = by_tool[tool]()
    return {
        "tool": tool,
        "version": version,
        "unchanged": len(unchanged),
        "three": BY_THREE in slower,
        "ten": BY_TEN in slower,
        "others": len(slower - {BY_THREE, BY_TEN}),
        "seconds": steps.seconds,
    }


def make_repository(folder: Path, planted: float | None) -> Revisions:
    """Make it anew, with the same commits: a run may have been stopped while it was made."""
    shutil.rmtree(folder, ignore_errors=True)
    package = folder / "small"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    run(["git", "init", "-q", "-b", "main", str(folder)])
    rounds = [100 + 10 * (number % 7) for number in range(FUNCTIONS)]
    base = commit(folder, rounds)
    comment = commit(folder, rounds, "# Only a comment.\n")
    more = list(rounds)
    more[BY_THREE] = round(more[BY_THREE] * (planted or 1.03))
    more[BY_TEN] = round(more[BY_TEN] * (planted or 1.10))
    return Revisions(folder, base, comment, commit(folder, more))


def commit(folder: Path, rounds: list[int], comment: str = "") -> str:
    functions = [
        f"def work_{number}():\n    total = 1.0\n    for _ in range({each}):\n        {BODIES[number % len(BODIES)]}\n"
        "    return total\n"
        for number, each in enumerate(rounds)
    ]
    (folder / "small" / "work.py").write_text(comment + "\n\n".join(functions))
    who = ["-c", "user.name=benchmark", "-c", "user.email=benchmark@example.com"]
    os.environ |= {"GIT_AUTHOR_DATE": COMMITTED, "GIT_COMMITTER_DATE": COMMITTED}
    run(["git", "-C", str(folder), "add", "-A"])
    run(["git", "-C", str(folder), *who, "commit", "-q", "-m", "a change"])
    return run(["git", "-C", str(folder), "rev-parse", "HEAD"]).strip()


def checked_out(revisions: Revisions, sha: str, place: Path) -> Path:
    """Return a folder with the files of a revision."""
    folder = place / sha[:10]
    shutil.rmtree(folder, ignore_errors=True)
    run(["git", "clone", "-q", str(revisions.repository), str(folder)])
    run(["git", "-C", str(folder), "checkout", "-q", sha])
    return folder


TORCH_SIDE = f"""
import json
from torch.utils.benchmark import Timer
found = []
for number in range({FUNCTIONS}):
    timer = Timer(f"work_{{number}}()", f"from small.work import work_{{number}}")
    m = timer.blocked_autorange(min_run_time=1.0)
    found.append((m._p25, m._p75))
print(json.dumps(found))
"""


def ask_torch(revisions: Revisions, place: Path, steps: Steps) -> tuple[Called, Called, str]:
    import torch

    def measure(sha: str) -> list[tuple[float, float]]:
        printed = run([sys.executable, "-c", TORCH_SIDE], checked_out(revisions, sha, place), on_path=True)
        return [(low, high) for low, high in json.loads(printed)]

    base, comment, slower = (steps.do(name, functools.partial(measure, sha)) for name, sha in revisions.named)

    def called(other: list[tuple[float, float]]) -> Called:
        pairs = enumerate(zip(base, other, strict=True))
        return {number for number, (a, b) in pairs if a[1] < b[0] or b[1] < a[0]}

    return called(comment), called(slower), torch.__version__


PYPERF_SIDE = f"""
import pyperf
from small import work
runner = pyperf.Runner()
for number in range({FUNCTIONS}):
    runner.bench_func(f"work_{{number}}", getattr(work, f"work_{{number}}"))
"""


def ask_pyperf(revisions: Revisions, place: Path, python: Path, steps: Steps) -> tuple[Called, Called, str]:
    (place / "side.py").write_text(PYPERF_SIDE)

    def measure(name: str, sha: str) -> str:
        file = place / f"{name}.json"
        # pyperf refuses to write over a file, which a run that was stopped may have left.
        file.unlink(missing_ok=True)
        folder = checked_out(revisions, sha, place)
        words = [str(python), str(place / "side.py"), "-q", "--inherit-environ=PYTHONPATH", "-o", str(file)]
        run(words, folder, on_path=True)
        return str(file)

    base, comment, slower = (steps.do(name, functools.partial(measure, name, sha)) for name, sha in revisions.named)

    def called(other: str) -> Called:
        printed = run([str(python), "-m", "pyperf", "compare_to", "--table", base, other])
        return {int(number) for number in re.findall(r"^\| work_(\d+) ", printed, re.MULTILINE)}

    return called(comment), called(slower), version_of(python, "pyperf")


PYTEST_TESTS = f"""
import pytest
from small import work

@pytest.mark.parametrize("number", range({FUNCTIONS}))
def test_work(benchmark, number):
    benchmark(getattr(work, f"work_{{number}}"))
"""


def ask_pytest_benchmark(revisions: Revisions, place: Path, python: Path, steps: Steps) -> tuple[Called, Called, str]:
    storage = f"--benchmark-storage=file://{place / 'storage'}"

    def measure(sha: str, *more: str) -> str:
        folder = checked_out(revisions, sha, place)
        (folder / "test_work.py").write_text(PYTEST_TESTS)
        words = [str(python), "-m", "pytest", "-q", "-p", "no:photometer", "test_work.py", storage, *more]
        return run(words, folder, on_path=True, statuses=(0, 1))

    steps.do("base", lambda: measure(revisions.base, "--benchmark-save=base"))

    def called(name: str, sha: str) -> Called:
        gate = ("--benchmark-compare", "--benchmark-compare-fail=mean:5%")
        printed = steps.do(name, lambda: measure(sha, *gate))
        return {int(number) for number in re.findall(r"test_work\[(\d+)\] .*has failed", printed)}

    version = version_of(python, "pytest_benchmark")
    return called("comment", revisions.comment), called("slower", revisions.slower), version


ASV_BENCHMARKS = "from small import work\n" + "\n".join(
    f"def time_work_{number}():\n    work.work_{number}()\n" for number in range(FUNCTIONS)
)


def ask_asv(revisions: Revisions, place: Path, python: Path, steps: Steps) -> tuple[Called, Called, str]:
    (place / "benchmarks").mkdir(exist_ok=True)
    (place / "benchmarks" / "__init__.py").write_text("")
    (place / "benchmarks" / "work.py").write_text(ASV_BENCHMARKS)
    copy = "import shutil, sysconfig; shutil.copytree('small', sysconfig.get_path('purelib') + '/small')"
    remove = "import shutil, sysconfig; shutil.rmtree(sysconfig.get_path('purelib') + '/small', True)"
    settings = {
        "version": 1,
        "project": "small",
        "repo": str(revisions.repository),
        "branches": ["main"],
        "environment_type": "virtualenv",
        "build_command": [],
        "install_command": [f'in-dir={{build_dir}} python -c "{copy}"'],
        "uninstall_command": [f'return-code=any python -c "{remove}"'],
    }
    (place / "asv.conf.json").write_text(json.dumps(settings))
    run([str(python), "-m", "asv", "machine", "--yes"], place)

    def called(name: str, sha: str) -> Called:
        options = ["--interleave-rounds", "--factor", "1.05", "--show-stderr"]
        words = [str(python), "-m", "asv", "continuous", revisions.base, sha, *options]
        printed = steps.do(name, lambda: run(words, place, statuses=(0, 1)))
        return {int(number) for number in re.findall(r"^\| [+-] .*time_work_(\d+)", printed, re.MULTILINE)}

    version = version_of(python, "asv")
    return called("comment", revisions.comment), called("slower", revisions.slower), version


SUITE = f"""
from photometer import TimerArgs
BENCHMARKS = {{
    f"work {{n}}": TimerArgs(f"work_{{n}}()", f"from small.work import work_{{n}}") for n in range({FUNCTIONS})
}}
"""


def ask_photometer(revisions: Revisions, place: Path, steps: Steps) -> tuple[Called, Called, str]:
    import photometer

    (place / "suite.py").write_text(SUITE)

    def called(name: str, sha: str) -> Called:
        words = ["compare", f"git:{revisions.base}", f"git:{sha}", "--suite", str(place / "suite.py"), "--json"]
        command = [sys.executable, "-m", "photometer", *words]
        printed = steps.do(name, lambda: run(command, revisions.repository, statuses=(0, 3, 4)))
        changed = ("slower", "faster", "probably slower", "probably faster")
        found = json.loads(printed)
        return {int(each["title"].split()[-1]) for each in found if each["verdict"]["verdict"] in changed}

    return called("comment", revisions.comment), called("slower", revisions.slower), photometer.__version__


def run(
    words: list[str], folder: Path | None = None, *, on_path: bool = False, statuses: tuple[int, ...] = (0,)
) -> str:
    """Run a command and return what it prints; with `on_path`, its folder is importable."""
    more = {"PYTHONPATH": str(folder)} if on_path else {}
    environment = {**os.environ, **more, "PHOTOMETER_KEEP": "0"}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in statuses:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout + (done.stderr if 1 in statuses else "")


def version_of(python: Path, module: str) -> str:
    return run([str(python), "-c", f"import {module}; print({module}.__version__)"]).strip()


def report(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    print("| tool | nothing changed: called | 3 % | 10 % | others called | wall time |")
    print("| --- | --- | --- | --- | --- | --- |")
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        planted = f", planted: {row['planted']:g} times" if row.get("planted") else ""
        groups[f"{row['tool']} {row['version']}, {'loaded' if row['loaded'] else 'quiet'}{planted}"].append(row)
    table = {}
    for name, found in groups.items():
        runs = len(found)

        def share(key: str, found: list[dict[str, Any]] = found, runs: int = runs) -> str:
            return f"found {sum(row[key] for row in found)} of {runs}"

        values = [
            f"{sum(row['unchanged'] for row in found)} of {FUNCTIONS * runs}",
            share("three"),
            share("ten"),
            f"{sum(row['others'] for row in found)} of {(FUNCTIONS - 2) * runs}",
            f"{sum(row['seconds'] for row in found) / runs:.0f} s",
        ]
        table[name] = values
        print(f"| {name} | {' | '.join(values)} |")
    return table


if __name__ == "__main__":
    main()
