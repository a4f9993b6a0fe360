"""The same questions to five tools: what has changed between two revisions of a small package?

    python benchmarks/same_questions.py --peers VENV                    quiet, every tool
    python benchmarks/same_questions.py --peers VENV --load             with a busy process on each core
    python benchmarks/same_questions.py --peers VENV --tool photometer --tool pyperf
    python benchmarks/same_questions.py --report --figures              the table of what has been kept so far

VENV has asv, pyperf, pytest-benchmark and virtualenv. The package has twenty functions of plain Python, 1.5 to 17 us
each. Three revisions: the base; one that adds a comment; one in which one function does 3 % more work and another one
10 %. Every tool compares the base with both, in the way that its documentation recommends for finding regressions:

    torch            Timer.blocked_autorange, a process per revision; changed if the interquartile ranges are disjoint
    pyperf           bench_func with all defaults, then compare_to, which tests for significance
    pytest-benchmark --benchmark-save, then --benchmark-compare-fail=mean:5%
    asv              continuous, which takes turns between the revisions, with its own factor of 1.1
    photometer       compare

"Called" counts a benchmark that the tool calls slower or faster. Wall time is of both comparisons together.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.figures import write_figures
from benchmarks.verdict_calibration import busy_cores

KEEP = Path("test-output/same_questions.jsonl")
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, help="Environment that has the other tools.")
    parser.add_argument("--tool", choices=TOOLS, action="append", help="Only this one; may be given several times.")
    parser.add_argument("--load", action="store_true", help="Keep each core busy with another process.")
    parser.add_argument("--keep", type=Path, default=KEEP, help=f"File of all runs (default: {KEEP}).")
    parser.add_argument("--report", action="store_true", help="Only print the table of what the file has.")
    parser.add_argument("--figures", action="store_true", help="Write docs/figures/same_questions.json, too.")
    options = parser.parse_args()
    options.keep.parent.mkdir(parents=True, exist_ok=True)
    if not options.report:
        with tempfile.TemporaryDirectory(prefix="questions") as folder:
            os.environ["PHOTOMETER_CACHE"] = str(Path(folder) / "cache")
            revisions = make_repository(Path(folder) / "small")
            for tool in options.tool or TOOLS:
                with busy_cores() if options.load else contextlib.nullcontext():
                    row = ask(tool, revisions, Path(folder), options.peers)
                row["loaded"] = options.load
                with options.keep.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(json.dumps(row), file=sys.stderr)
    rows = report([json.loads(line) for line in options.keep.read_text().splitlines()])
    if options.figures:
        columns = ("nothing changed: called", "3 %", "10 %", "others called", "wall time")
        write_figures("same_questions", columns, rows, kept=options.keep)


def ask(tool: str, revisions: Revisions, folder: Path, peers: Path | None) -> dict[str, Any]:
    """Let a tool compare the base with both other revisions."""
    place = folder / tool
    place.mkdir()
    python = Path(sys.executable) if peers is None else peers.absolute() / "bin" / "python"
    by_tool: dict[str, Callable[[], tuple[Called, Called, str]]] = {
        "torch": lambda: ask_torch(revisions, place),
        "pyperf": lambda: ask_pyperf(revisions, place, python),
        "pytest-benchmark": lambda: ask_pytest_benchmark(revisions, place, python),
        "asv": lambda: ask_asv(revisions, place, python),
        "photometer": lambda: ask_photometer(revisions, place),
    }
    started = time.monotonic()
    unchanged, slower, version = by_tool[tool]()
    return {
        "tool": tool,
        "version": version,
        "unchanged": len(unchanged),
        "three": BY_THREE in slower,
        "ten": BY_TEN in slower,
        "others": len(slower - {BY_THREE, BY_TEN}),
        "seconds": time.monotonic() - started,
    }


def make_repository(folder: Path) -> Revisions:
    package = folder / "small"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    run(["git", "init", "-q", "-b", "main", str(folder)])
    rounds = [100 + 10 * (number % 7) for number in range(FUNCTIONS)]
    base = commit(folder, rounds)
    comment = commit(folder, rounds, "# Only a comment.\n")
    more = list(rounds)
    more[BY_THREE] = round(more[BY_THREE] * 1.03)
    more[BY_TEN] = round(more[BY_TEN] * 1.10)
    return Revisions(folder, base, comment, commit(folder, more))


def commit(folder: Path, rounds: list[int], comment: str = "") -> str:
    functions = [
        f"def work_{number}():\n    total = 1.0\n    for _ in range({each}):\n        {BODIES[number % len(BODIES)]}\n"
        "    return total\n"
        for number, each in enumerate(rounds)
    ]
    (folder / "small" / "work.py").write_text(comment + "\n\n".join(functions))
    who = ["-c", "user.name=benchmark", "-c", "user.email=benchmark@example.com"]
    run(["git", "-C", str(folder), "add", "-A"])
    run(["git", "-C", str(folder), *who, "commit", "-q", "-m", "a change"])
    return run(["git", "-C", str(folder), "rev-parse", "HEAD"]).strip()


def checked_out(revisions: Revisions, sha: str, place: Path) -> Path:
    """Return a folder with the files of a revision."""
    folder = place / sha[:10]
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


def ask_torch(revisions: Revisions, place: Path) -> tuple[Called, Called, str]:
    import torch

    def measure(sha: str) -> list[tuple[float, float]]:
        printed = run([sys.executable, "-c", TORCH_SIDE], checked_out(revisions, sha, place), on_path=True)
        return [(low, high) for low, high in json.loads(printed)]

    base, comment, slower = (measure(sha) for sha in (revisions.base, revisions.comment, revisions.slower))

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


def ask_pyperf(revisions: Revisions, place: Path, python: Path) -> tuple[Called, Called, str]:
    (place / "side.py").write_text(PYPERF_SIDE)

    def measure(name: str, sha: str) -> Path:
        file = place / f"{name}.json"
        folder = checked_out(revisions, sha, place)
        words = [str(python), str(place / "side.py"), "-q", "--inherit-environ=PYTHONPATH", "-o", str(file)]
        run(words, folder, on_path=True)
        return file

    base, comment, slower = (
        measure(name, sha)
        for name, sha in (("base", revisions.base), ("comment", revisions.comment), ("slower", revisions.slower))
    )

    def called(other: Path) -> Called:
        printed = run([str(python), "-m", "pyperf", "compare_to", "--table", str(base), str(other)])
        return {int(number) for number in re.findall(r"^\| work_(\d+) ", printed, re.MULTILINE)}

    return called(comment), called(slower), version_of(python, "pyperf")


PYTEST_TESTS = f"""
import pytest
from small import work

@pytest.mark.parametrize("number", range({FUNCTIONS}))
def test_work(benchmark, number):
    benchmark(getattr(work, f"work_{{number}}"))
"""


def ask_pytest_benchmark(revisions: Revisions, place: Path, python: Path) -> tuple[Called, Called, str]:
    storage = f"--benchmark-storage=file://{place / 'storage'}"

    def measure(sha: str, *more: str) -> str:
        folder = checked_out(revisions, sha, place)
        (folder / "test_work.py").write_text(PYTEST_TESTS)
        words = [str(python), "-m", "pytest", "-q", "-p", "no:photometer", "test_work.py", storage, *more]
        return run(words, folder, on_path=True, statuses=(0, 1))

    measure(revisions.base, "--benchmark-save=base")

    def called(sha: str) -> Called:
        printed = measure(sha, "--benchmark-compare", "--benchmark-compare-fail=mean:5%")
        return {int(number) for number in re.findall(r"test_work\[(\d+)\] .*has failed", printed)}

    return called(revisions.comment), called(revisions.slower), version_of(python, "pytest_benchmark")


ASV_BENCHMARKS = "from small import work\n" + "\n".join(
    f"def time_work_{number}():\n    work.work_{number}()\n" for number in range(FUNCTIONS)
)


def ask_asv(revisions: Revisions, place: Path, python: Path) -> tuple[Called, Called, str]:
    (place / "benchmarks").mkdir()
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

    def called(sha: str) -> Called:
        words = [str(python), "-m", "asv", "continuous", revisions.base, sha, "--show-stderr"]
        printed = run(words, place, statuses=(0, 1))
        return {int(number) for number in re.findall(r"^\| [+-] .*time_work_(\d+)", printed, re.MULTILINE)}

    return called(revisions.comment), called(revisions.slower), version_of(python, "asv")


SUITE = f"""
from photometer import TimerArgs
BENCHMARKS = {{
    f"work {{n}}": TimerArgs(f"work_{{n}}()", f"from small.work import work_{{n}}") for n in range({FUNCTIONS})
}}
"""


def ask_photometer(revisions: Revisions, place: Path) -> tuple[Called, Called, str]:
    import photometer

    (place / "suite.py").write_text(SUITE)

    def called(sha: str) -> Called:
        words = ["compare", f"git:{revisions.base}", f"git:{sha}", "--suite", str(place / "suite.py"), "--json"]
        command = [sys.executable, "-m", "photometer", *words]
        printed = run(command, revisions.repository, statuses=(0, 3, 4))
        changed = ("slower", "faster", "probably slower", "probably faster")
        found = json.loads(printed)
        return {int(each["title"].split()[-1]) for each in found if each["verdict"]["verdict"] in changed}

    return called(revisions.comment), called(revisions.slower), photometer.__version__


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
        groups[f"{row['tool']} {row['version']}, {'loaded' if row['loaded'] else 'quiet'}"].append(row)
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
