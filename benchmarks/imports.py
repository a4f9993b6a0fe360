"""How long do commands take on a project that takes long to import, cold and warm?

    python benchmarks/imports.py                          every part, cold and then warm
    python benchmarks/imports.py --part ab --part time    some: each takes less than ten minutes, with --load, too
    python benchmarks/imports.py --load                   with a busy process on each core
    python benchmarks/imports.py --new                    forget what earlier versions took, then as above
    python benchmarks/imports.py --report --figures       the table of what has been kept so far, for the docs

A repository is made in a temporary folder whose package `slowpackage` runs plain loops for about two seconds when it is
imported; a commit makes one of its five functions 3 % slower. Seconds are on the wall, from Enter until the verdict,
the count or the table is printed. "Cold" has no servers and no kept counts; "warm" is the same command again, on a
commit that it has not seen; "again" on one that it has. Beside `ab`: the same with the imports in every fork
(--no-preload), and pyperf, which measures the two statements one after the other, each in twenty processes. The part
"ab libraries" installs tensordict and einops beside the kept file first, unless --libraries names a folder with them.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.figures import write_figures
from benchmarks.verdict_calibration import busy_cores

KEEP = Path("test-output/imports.jsonl")
PARTS = ("ab", "ab libraries", "compare", "pytest", "time", "compile", "two", "unchanged", "ab 10 %")
FUNCTIONS = 5
Row = dict[str, Any]

PACKAGE = """
import time as _time

def _work(seconds):
    # Plain loops of the processor's own time, so that a busy machine does the same work.
    rounds = 0
    for _ in range(int(seconds * {rounds_per_second})):
        rounds += 1
    return rounds

_work({seconds})
"""
FUNCTION = """
def work_{number}(x, tensor):
    total = x
    for _ in range({rounds}):
        total = total * 0.5
    return tensor + total
"""
SETUP = "from slowpackage.layers import work_{number}\\nx, tensor = 1.5, torch.ones(8)"
SUITE = f"""
from photometer import TimerArgs
BENCHMARKS = {{
    f"work {{n}}": TimerArgs(f"work_{{n}}(x, tensor)", f"{SETUP.format(number="{n}")}") for n in range({FUNCTIONS})
}}
"""
TESTS = f"""
import pytest
import torch
from slowpackage import layers

@pytest.mark.parametrize("number", range({FUNCTIONS}))
def test_work(photometer, number):
    work, tensor = getattr(layers, f"work_{{number}}"), torch.ones(8)
    photometer(work, 1.5, tensor)
"""
ONE_LINERS = """
from photometer import TimerArgs
BENCHMARKS = {
    "add": TimerArgs("slowed(x)", "from oneliners import slowed; x = torch.ones(8)"),
    "mul": TimerArgs("x * 2", "x = torch.ones(8)"),
}
"""
MANY = """
from photometer import TimerArgs
SETUP = "from oneliners import plain; x = torch.ones"
BENCHMARKS = {f"add {n}": TimerArgs("plain(x)", f"{SETUP}({n})") for n in range(1, 21)}
"""
ONE_LINERS_CODE = """
def plain(x):
    return x + 1

def slowed(x):
    return x + 1 if {more} else x
"""
COMPILATION = "torch._dynamo.reset(); torch.compile(f, backend='eager')(x)"
COMPILATION_SETUP = "import torch._dynamo\ndef f(x): return torch.sin(x) + x\nx = torch.ones(8)"
# tensordict and einops with what they need besides torch, which must be the one that is here.
REQUIREMENTS = ("tensordict", "einops", "cloudpickle", "importlib_metadata", "orjson", "packaging", "pyvers", "zipp")
LIBRARIES = {
    "tensordict": (
        "TensorDict(d, [3, 4])",
        "from tensordict import TensorDict\nd = {'a': torch.zeros(3, 4), 'b': torch.ones(3, 4, 5)}",
    ),
    "einops": ("rearrange(x, 'a b -> b a')", "from einops import rearrange\nx = torch.ones(8, 16)"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, action="append", help="Only this part; may be given several times.")
    parser.add_argument("--warm-runs", type=int, default=3, help="Warm runs after the cold one (default: 3).")
    parser.add_argument("--import-seconds", type=float, default=2.0, help="How long the package takes to import.")
    parser.add_argument("--libraries", type=Path, help="Folder with tensordict and einops, put on PYTHONPATH.")
    parser.add_argument("--new", action="store_true", help="Forget the runs that the file has.")
    parser.add_argument("--load", action="store_true", help="Keep each core busy with another process.")
    parser.add_argument("--no-peers", action="store_true", help="Leave out --no-preload and pyperf.")
    parser.add_argument("--keep", type=Path, default=KEEP, help=f"File of all runs (default: {KEEP}).")
    parser.add_argument("--report", action="store_true", help="Only print the table of what the file has.")
    parser.add_argument("--figures", action="store_true", help="Write docs/figures/imports.json, too.")
    options = parser.parse_args()
    options.keep.parent.mkdir(parents=True, exist_ok=True)
    if options.new:
        options.keep.unlink(missing_ok=True)
    if not options.report:
        with busy_cores() if options.load else contextlib.nullcontext():
            for row in measure(options):
                row["loaded"] = options.load
                with options.keep.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(json.dumps(row), file=sys.stderr)
    rows = report([json.loads(line) for line in options.keep.read_text().splitlines()])
    if options.figures:
        write_figures("imports", ("quiet", "loaded"), rows, kept=options.keep)


def measure(options: argparse.Namespace) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="imports") as folder:
        place = Path(folder)
        os.environ["PHOTOMETER_CACHE"] = str(place / "cache")
        os.environ["XDG_RUNTIME_DIR"] = folder
        repository = Repository(place / "repository", options.import_seconds)
        try:
            for part in options.part or PARTS:
                yield from Trial(repository, options).measure(part)
        finally:
            photometer("warm", "--stop")


class Trial:
    """One part: its command run cold, then warm; for some, what others take."""

    def __init__(self, repository: Repository, options: argparse.Namespace) -> None:
        self.repository = repository
        self.options = options
        self.peers = not options.no_peers
        setup = SETUP.format(number=0).replace("\\n", "\n")
        self.ab_words = ["ab", "work_0(x, tensor)", "work_0(x, tensor + 0)", "-s", setup, "--json"]

    def measure(self, part: str) -> Iterator[Row]:
        runs: dict[str, Callable[[], Iterator[Row]]] = {
            "ab": lambda: self._ab("2 s package", self.ab_words, self.repository.folder),
            "ab libraries": self._libraries,
            "compare": self._compare,
            "pytest": self._pytest,
            "time": lambda: self._timed("time", ["time", "--instructions", "x * x", "-s", "x = torch.ones(4)"]),
            "compile": lambda: self._timed(
                "compile", ["time", "--instructions", COMPILATION, "-s", COMPILATION_SETUP, "--number", "1"]
            ),
            "two": lambda: self._oneliners("two", ONE_LINERS),
            "unchanged": lambda: self._oneliners("unchanged", MANY),
            "ab 10 %": lambda: self._timed(
                "ab 10 %", ["ab", "for _ in range(1000): x + 1", "for _ in range(1100): x + 1", "-s", "x = 1.5"]
            ),
        }
        for row in runs[part]():
            yield {"part": part, **row}

    def _states(self) -> Iterator[str]:
        photometer("warm", "--stop")
        yield "cold"
        for _ in range(self.options.warm_runs):
            yield "warm"

    def _commits(self, commit: Callable[[], str]) -> Iterator[tuple[str, str]]:
        """Yield states with a commit each: a new one, but for the last, which has been seen."""
        sha = ""
        for state in self._states():
            sha = commit()
            yield state, sha
        yield "again", sha

    def _timed(self, kind: str, words: list[str]) -> Iterator[Row]:
        for state in self._states():
            done, wall = timed(words)
            yield {"kind": kind, "state": state, "seconds": wall, "exit": done.returncode}

    def _ab(self, kind: str, words: list[str], folder: Path, peers: bool = True) -> Iterator[Row]:
        words = [*words, "--budget", "6"]
        for state in self._states():
            done, wall = timed(words, folder)
            yield {"kind": kind, "state": state, "seconds": wall, **verdict_of(done.stdout)}
        if self.peers and peers:
            done, wall = timed([*words, "--no-keep", "--no-preload"], folder)
            yield {"kind": kind, "state": "--no-preload", "seconds": wall, **verdict_of(done.stdout)}
            yield {"kind": kind, "state": "pyperf", "seconds": pyperf_seconds(words, folder), "verdict": "–"}

    def _libraries(self) -> Iterator[Row]:
        folder = self.options.libraries or install(self.options.keep.parent / "libraries")
        for name, (stmt, setup) in LIBRARIES.items():
            with on_python_path(folder):
                yield from self._ab(name, ["ab", stmt, f"{stmt}; None", "-s", setup, "--json"], Path("/"), False)

    def _compare(self) -> Iterator[Row]:
        for state, branch in self._commits(lambda: self.repository.slower(3)):
            words = ["compare", f"git:{self.repository.base}", f"git:{branch}", "--suite", str(self.repository.suite)]
            yield {"kind": "2 s package", "state": state, **self._until_table(words)}

    def _pytest(self) -> Iterator[Row]:
        for state, _ in self._commits(lambda: self.repository.slower(3)):
            started = time.monotonic()
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", f"--photometer-compare=git:{self.repository.base}"],
                cwd=self.repository.folder,
                capture_output=True,
                text=True,
                check=False,
                env=keeping(),
            )
            lines = [line for line in done.stdout.splitlines() if "slower" in line or "identical" in line]
            yield {
                "kind": "2 s package",
                "state": state,
                "seconds": time.monotonic() - started,
                "exit": done.returncode,
                "lines": lines[-8:],
            }

    def _oneliners(self, kind: str, suite: str) -> Iterator[Row]:
        folder = self.repository.folder.parent / f"oneliners-{kind}"
        code = OneLiners(folder, suite)
        for state, branch in self._commits(code.next):
            words = ["compare", f"git:{code.base}", f"git:{branch}", "--suite", str(code.suite)]
            yield {"kind": kind, "state": state, **self._until_table(words, folder)}

    def _until_table(self, words: list[str], folder: Path | None = None) -> Row:
        started = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "photometer", *words],
            cwd=folder or self.repository.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=keeping(),
        )
        assert process.stdout is not None
        row: Row = {"seconds": None}
        for line in process.stdout:
            if line.startswith(("Nothing is", "The branch is slower", "Undecided", "Something failed")):
                row = {"seconds": time.monotonic() - started, "headline": line.strip()}
        return {**row, "exit": process.wait(), "wall": time.monotonic() - started}


class Repository:
    """A git repository with a package that is slow to import, a suite and tests."""

    def __init__(self, folder: Path, import_seconds: float) -> None:
        self.folder = folder
        (folder / "slowpackage").mkdir(parents=True)
        began = time.process_time()
        exec("rounds = 0\nfor _ in range(2_000_000): rounds += 1", {})
        rate = 2_000_000 / (time.process_time() - began)
        text = PACKAGE.format(seconds=import_seconds, rounds_per_second=round(rate))
        (folder / "slowpackage" / "__init__.py").write_text(text)
        (folder / "tests").mkdir()
        (folder / "tests" / "test_work.py").write_text(TESTS)
        (folder / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
        self.suite = folder.parent / "suite.py"
        self.suite.write_text(SUITE)
        self._more = 0
        git(folder, "init", "-q", "-b", "main")
        self.base = self._commit([100 + 10 * number for number in range(FUNCTIONS)])

    def slower(self, which: int) -> str:
        """Commit code that has one function slower by 3 %, and each time a little more, so that it is new."""
        self._more += 1
        rounds = [100 + 10 * number for number in range(FUNCTIONS)]
        rounds[which] = round(rounds[which] * 1.045) + self._more
        return self._commit(rounds)

    def _commit(self, rounds: list[int]) -> str:
        text = "".join(FUNCTION.format(number=number, rounds=each) for number, each in enumerate(rounds))
        (self.folder / "slowpackage" / "layers.py").write_text(text)
        return commit(self.folder)


class OneLiners:
    """A repository of two functions of one line, which a commit does not change, or slows."""

    def __init__(self, folder: Path, suite: str) -> None:
        self.folder = folder
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main")
        self._slows = suite is ONE_LINERS
        self._commits = 0
        (folder / "oneliners.py").write_text(ONE_LINERS_CODE.format(more="x.dim()"))
        self.base = commit(folder)
        self.suite = folder.parent / f"{folder.name}.py"
        self.suite.write_text(suite)

    def next(self) -> str:
        self._commits += 1
        more = f"x.dim() and x.dim() and x.dim() < {self._commits + 5}" if self._slows else "x.dim()"
        text = ONE_LINERS_CODE.format(more=more) + f"# Comment {self._commits}.\n"
        (self.folder / "oneliners.py").write_text(text)
        return commit(self.folder)


def commit(folder: Path) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "a change")
    return git(folder, "rev-parse", "HEAD").strip()


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@example.com")
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def keeping() -> dict[str, str]:
    return {**os.environ, "PHOTOMETER_KEEP": "600"}


def photometer(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "photometer", *words], check=True, capture_output=True)


def timed(words: list[str], folder: Path | None = None) -> tuple[subprocess.CompletedProcess[str], float]:
    started = time.monotonic()
    command = [sys.executable, "-m", "photometer", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=keeping())
    return done, time.monotonic() - started


def verdict_of(output: str) -> Row:
    pair = json.loads(output)["pairs"][0]
    verdict = pair.get("verdict", pair)
    verdict = verdict if isinstance(verdict, dict) else pair
    return {"verdict": verdict["verdict"], "replicates": verdict.get("replicates")}


def pyperf_seconds(words: list[str], folder: Path) -> float | None:
    """Return how long pyperf takes to time both statements of an `ab`; None if it is not installed."""
    setup = f"import torch\n{words[words.index('-s') + 1]}"
    started = time.monotonic()
    for stmt in words[1:3]:
        command = [sys.executable, "-m", "pyperf", "timeit", "-q", "--inherit-environ=PYTHONPATH", "-s", setup, stmt]
        environment = {**os.environ, "PYTHONPATH": str(folder)}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
        if done.returncode:
            print(done.stderr.decode(), file=sys.stderr)
            return None
    return time.monotonic() - started


def install(folder: Path) -> Path:
    """Install the libraries into a folder of their own, if that has not been done."""
    if not (folder / "tensordict").is_dir():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
        subprocess.run([*command, *REQUIREMENTS], check=True)
    return folder


@contextlib.contextmanager
def on_python_path(folder: Path) -> Iterator[None]:
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(folder.resolve())
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def report(rows: list[Row]) -> dict[str, list[str]]:
    groups: dict[tuple[str, str, str], dict[bool, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        groups[row["part"], row["kind"], row["state"]][row["loaded"]].append(row)
    print("| what | quiet | loaded |\n| --- | --- | --- |")
    table = {}
    for (part, kind, state), by_load in groups.items():
        values = [_shown(by_load[loaded]) for loaded in (False, True)]
        name = f"{part}, {kind}, {state}" if kind != part else f"{part}, {state}"
        table[name] = values
        print(f"| {name} | {' | '.join(values)} |")
    return table


def _shown(rows: list[Row]) -> str:
    seconds = [row["seconds"] for row in rows if row["seconds"] is not None]
    if not seconds:
        return "–"
    most = f" (at most {max(seconds):.1f})" if len(seconds) > 1 else ""
    return f"{statistics.median(seconds):.1f} s{most}"


if __name__ == "__main__":
    main()
