"""`photometer run` on real workers: suites with planted faults, runs that are stopped, killed and continued."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from photometer.model.results_reader import load_results
from tests.photometer_command import COMMAND, photometer
from tests.waiting import PATIENCE_SECONDS, killed_at_last, wait_until, wait_until_gone

GOOD = '"good": {"add": TimerArgs("x + 1", "x = torch.ones(3)"), "empty": TimerArgs("torch.empty(1)")},'
HEAD = "from photometer.definition import GroupedSetup, GroupedStmts, TimerArgs\n"
FAULTS = (
    HEAD
    + f"""
BENCHMARKS = {{
    {GOOD}
    "good too": {{
        "flood": TimerArgs("print('x' * 1000)"),
        "C++": TimerArgs("auto y = x + 1;", "auto x = torch::ones({{3}});", language="cpp"),
    }},
    "bad": {{
        "segmentation fault": TimerArgs("ctypes.string_at(0)", "import ctypes"),
        "endless loop": GroupedStmts("pass", setup=GroupedSetup("while True: pass"), timeout_seconds=5),
        "exit": TimerArgs("os._exit(3)", "import os"),
        "tensor of 100 GB": TimerArgs("y = torch.ones(25_000_000_000)"),
        "text of 100 GB": TimerArgs("y = b'x' * 100_000_000_000"),
        "exception": TimerArgs("1 / 0"),
        "C++ syntax": TimerArgs("auto y = x + ;", "auto x = torch::ones({{3}});", language="cpp"),
    }},
}}
"""
)
MANY = HEAD + 'BENCHMARKS = {f"order {i}": TimerArgs(f"x + {i}", "x = torch.ones(3)") for i in range(12)}\n'


def command(*words: str) -> list[str]:
    return [*COMMAND, "run", *words]


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return photometer("run", *words, cwd=folder)


def suite(folder: Path, text: str) -> str:
    path = folder / "my_suite.py"
    path.write_text(text)
    return str(path)


def descendants(pid: int) -> set[int]:
    found: set[int] = set()
    for listing in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = {int(child) for child in listing.read_text().split()}
        except OSError:
            continue
        found |= children.union(*(descendants(child) for child in children))
    return found


@pytest.mark.warm
@pytest.mark.slow
@pytest.mark.compiler
def test_planted_faults_are_told_and_all_other_results_are_there(tmp_path: Path) -> None:
    done = run(tmp_path, suite(tmp_path, FAULTS), "--no-instructions", "--min-run-time", "0.02")
    assert done.returncode == 1, done.stderr
    results = load_results(tmp_path / "photometer-results" / "my_suite" / "results.json")
    measured = {record["order"]["label"][-1] for record in results.records if record["kind"] == "measurement"}
    assert measured == {"add", "empty", "flood", "C++"}
    assert (tmp_path / "photometer-results" / ".gitignore").exists()
    shown = photometer("show", "photometer-results/my_suite", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    printed = done.stdout.rpartition("Results: ")[0]
    assert printed.strip()
    tables, _, percentiles = shown.stdout.partition("\nPercentiles\n")
    assert tables.endswith(printed), "`show` and `run` print the same table"
    assert "blocks of" in percentiles
    assert done.stderr.startswith("machine: ")
    reasons = {r["order"]["label"][-1]: r for r in results.records if r["kind"] == "failure"}
    assert "SIGSEGV" in reasons["segmentation fault"]["message"]
    assert reasons["segmentation fault"]["attempts"] == 2
    assert "within 5 s" in reasons["endless loop"]["message"]
    assert "exit status 3" in reasons["exit"]["message"]
    assert "allocate" in reasons["tensor of 100 GB"]["message"]
    assert "MemoryError" in reasons["text of 100 GB"]["message"]
    assert "ZeroDivisionError" in reasons["exception"]["message"]
    assert reasons["exception"]["attempts"] == 1
    assert reasons["C++ syntax"]["step"] == "build"
    assert len(reasons) == 7
    assert "4 of 11 variants measured" in done.stdout
    assert "bad › exception [python]: timing failed: ZeroDivisionError" in done.stdout


@pytest.mark.slow
def test_a_run_that_was_killed_is_continued_and_repeats_nothing(tmp_path: Path) -> None:
    words = (suite(tmp_path, MANY), "--no-instructions", "--min-run-time", "0.05", "-o", str(tmp_path / "out"))
    path = tmp_path / "out" / "results.json"
    for _ in range(2):
        process = subprocess.Popen(
            command(*words, "--resume"), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True
        )
        with killed_at_last(process):
            wait_until(lambda: path.exists() and b'"measurement"' in path.read_bytes())
            time.sleep(random.uniform(0.0, 0.4))
            started = descendants(process.pid)
        wait_until_gone(started)
    before = path.read_bytes()
    done = run(tmp_path, *words, "--resume")
    assert done.returncode == 0, done.stderr
    results = load_results(path)
    assert path.read_bytes().startswith(before[:-10])
    finished = Counter(record["order"]["label"][-1] for record in results.records)
    assert finished == {f"order {i}": 1 for i in range(12)}


@pytest.mark.slow
@pytest.mark.valgrind
@pytest.mark.compiler
def test_ctrl_c_ends_everything(tmp_path: Path) -> None:
    cpp = 'BENCHMARKS["C++"] = TimerArgs("auto y = x + 1;", "auto x = torch::ones({3});", language="cpp")\n'
    environment = {**os.environ, "PHOTOMETER_CACHE": str(tmp_path / "cache")}
    process = subprocess.Popen(
        command(suite(tmp_path, MANY + cpp)),
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that starts a job in the background has it ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    results = tmp_path / "photometer-results" / "my_suite" / "results.json"
    with killed_at_last(process):
        wait_until(lambda: results.exists() or process.poll() is not None)
        time.sleep(random.uniform(0.0, 3.0))
        started = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130, told
    assert "--resume continues" in told
    wait_until_gone(started)
    load_results(results)


@pytest.mark.nightly
@pytest.mark.valgrind
def test_counts_are_the_same_in_two_runs(tmp_path: Path) -> None:
    name = suite(tmp_path, HEAD + f"BENCHMARKS = {{ {GOOD} }}\n")
    counted = []
    for folder in ("one", "two"):
        done = run(tmp_path, name, "--no-wall", "-o", str(tmp_path / folder), "-q")
        assert done.returncode == 0, done.stderr
        assert done.stdout == ""
        records = load_results(tmp_path / folder / "results.json").records
        counted.append({record["order"]["id"]: record["repeats"] for record in records})
    assert len(counted[0]) == 2
    assert counted[0] == counted[1]


@pytest.mark.lengthy
def test_nothing_selected_is_an_exit_code_of_its_own(tmp_path: Path) -> None:
    done = run(tmp_path, suite(tmp_path, MANY), "-k", "nowhere", "--no-instructions")
    assert done.returncode == 5
    assert "nothing is selected" in done.stderr
    assert not (tmp_path / "photometer-results").exists()


@pytest.mark.lengthy
def test_an_interpreter_without_torch_is_told(tmp_path: Path) -> None:
    done = run(tmp_path, suite(tmp_path, MANY), "--no-instructions", "--python", "/nowhere/python")
    assert done.returncode == 1
    assert "/nowhere/python" in done.stderr


def test_neither_time_nor_instructions_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path, suite(tmp_path, MANY), "--no-wall", "--no-instructions")
    assert done.returncode == 1
    assert "Leave one of them on" in done.stderr


def test_a_selection_is_counted_and_a_word_that_nothing_has_is_told(tmp_path: Path) -> None:
    name = suite(tmp_path, HEAD + f"BENCHMARKS = {{ {GOOD} }}\n")
    done = run(tmp_path, name, "-k", "emty", "--no-instructions")
    assert done.returncode == 5
    assert "no label has 'emty'; did you mean 'empty'?" in done.stderr
    assert "0 of 2 variants selected" in done.stderr


QUICK = ("--min-run-time", "0.01", "--no-instructions")


@pytest.mark.warm
@pytest.mark.lengthy
def test_the_ladder_and_its_expectations(tmp_path: Path) -> None:
    case = "torch.add and (Tensor or TorchFunctionOff) and not (Disabled or With or Dispatch or Mode)"
    done = photometer("run", "overrides", "-k", case, *QUICK, "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [
        line for line in done.stdout.splitlines() if re.match(r"  (TorchFunctionOff|Tensor|SubTensor) .* [nuµ]s", line)
    ]
    assert [row.split()[-1] for row in rows[-2:]] == ["TorchFunctionOff", "Tensor"]
    assert "little for a subclass of torch.Tensor: it adds +" in done.stdout
    assert "a couple of microseconds for a tensor-like: not measured: not decided" in done.stdout
    steps = [
        record for record in load_results(tmp_path / "out" / "results.json").records if record["kind"] == "ladder_step"
    ]
    added = {(step["rung"], step["below"]): step["added_seconds"] for step in steps}
    assert added.keys() == {("Tensor", "TorchFunctionOff"), ("SubTensor", "Tensor")}
    assert added["SubTensor", "Tensor"] > 0
    again = photometer("run", "overrides", "-k", case, *QUICK, "-o", "out", "--resume", cwd=tmp_path)
    assert again.stdout.splitlines()[-8:] == done.stdout.splitlines()[-8:]


@pytest.mark.warm
@pytest.mark.lengthy
def test_the_classic_four_lines(tmp_path: Path) -> None:
    done = photometer("run", "overrides", "--classic", *QUICK, "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    form = r"(\w+) +minimum +([\d.]+) [nµ]s, standard deviation +([\d.]+) [nµ]s"
    matches = [re.fullmatch(form, line) for line in done.stdout.splitlines()]
    assert all(matches)
    assert [match.group(1) for match in matches if match] == [
        *("Tensor", "SubTensor", "WithTorchFunction", "SubWithTorchFunction")
    ]


@pytest.mark.warm
@pytest.mark.lengthy
def test_a_suite_without_classic_cases_says_so(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        'from photometer.definition import GroupedStmts\nBENCHMARKS = {"a": GroupedStmts("1")}\n'
    )
    done = photometer("run", "mine.py", "--classic", cwd=tmp_path)
    assert done.returncode == 5
    assert "no cases with the tag `classic`" in done.stderr
