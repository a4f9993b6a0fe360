"""`photometer fuzz` as a user types it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from photometer.model.fuzz_trial import FuzzTrial
from photometer.model.results_reader import load_results
from tests.photometer_command import photometer
from tests.waiting import PATIENCE_SECONDS, killed_at_last, wait_until

pytestmark = [pytest.mark.lengthy, pytest.mark.warm]

SPEC = """
from photometer.fuzzing import FuzzedParameter, FuzzedTensor, Fuzzer

FUZZER = Fuzzer([FuzzedParameter("n", 16, 4096, "loguniform")], [FuzzedTensor("x", ("n", 2))], seed=1)
"""
QUICK = ("--min-run-time", "0.005")


def test_two_statements_over_a_preset(tmp_path: Path) -> None:
    done = photometer(
        "fuzz",
        *("x + y", "--against", "torch.add(x, y)", "--fuzzer", "binary", "-n", "6", "--seed", "2", *QUICK),
        *("--max-elements", "100000", "-o", "out"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "of 6 inputs" in done.stdout
    assert "seed 2" in done.stdout
    assert "torch.add(x, y)" in (tmp_path / "out" / "report.html").read_text()
    results = load_results(tmp_path / "out" / "results.json")
    assert results.header["fuzz"]["statements"] == ["x + y", "torch.add(x, y)"]
    assert results.machine is not None
    assert results.machine.torch is not None
    trials = results.of(FuzzTrial)
    assert [trial.index for trial in trials] == list(range(6))
    assert all(len(trial.seconds_per_run) == 2 for trial in trials)
    again = photometer("show", "out", cwd=tmp_path)
    assert again.stdout == done.stdout.partition("\nInputs: ")[0], "`show` prints the map that `fuzz` printed"
    shown = photometer("show", "out", "--json", "--csv", "inputs.csv", cwd=tmp_path)
    table = json.loads(shown.stdout)
    assert sorted(row["index"] for row in table["rows"]) == list(range(6))
    assert "of 6 inputs" in table["notes"][0]
    assert len((tmp_path / "inputs.csv").read_text().splitlines()) == 1 + 6


def test_a_spec_file_and_the_line_that_rebuilds(tmp_path: Path) -> None:
    (tmp_path / "spec.py").write_text(SPEC)
    done = photometer(
        "fuzz", "assert n < 300; x.sum()", "--spec", "spec.py", "-n", "12", "--seed", "5", *QUICK, cwd=tmp_path
    )
    assert done.returncode == 1, done.stderr
    assert "failed" in done.stdout
    assert "AssertionError" in done.stdout
    line = re.findall(r"from photometer.*", done.stdout)[0]
    index, shown = re.findall(r"#(\d+) x (\d+)×2", done.stdout[done.stdout.index("failed") :])[0]
    assert f".at({index})" in line
    again = subprocess.run(
        [sys.executable, "-c", f"{line}; print(params['n'], tensors['x'].shape[0])"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert again.stdout.split() == [shown, shown]


def test_nothing_that_can_be_timed(tmp_path: Path) -> None:
    (tmp_path / "spec.py").write_text(SPEC)
    done = photometer("fuzz", "no_such_name", "--spec", "spec.py", "-n", "2", "--json", "all.json", cwd=tmp_path)
    assert done.returncode == 5
    assert "NameError" in done.stdout
    written = json.loads((tmp_path / "all.json").read_text())
    assert written["rows"] == []
    assert sum("NameError" in note for note in written["notes"]) == 2


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("x",), 2, "either --fuzzer NAME or --spec FILE"),
        (("x", "--fuzzer", "unary", "--spec", "a.py"), 2, "either"),
        (("x", "--fuzzer", "ternary"), 1, "sparse-unary"),
        (("x", "--spec", "missing.py"), 1, "no file"),
        (("x", "--spec", "bad.py"), 1, "ZeroDivisionError"),
        (("x", "--spec", "empty.py"), 1, "FUZZER"),
        (("x", "--spec", "empty.py", "--dtype", "float64"), 2, "spec file"),
        (("x +", "--fuzzer", "unary"), 1, 'File "<stmt>", line 1'),
        (("x", "--fuzzer", "matmul", "--max-elements", "5"), 1, "does not take max_elements"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, arguments: tuple[str, ...], status: int, said: str) -> None:
    (tmp_path / "bad.py").write_text("1 / 0\n")
    (tmp_path / "empty.py").write_text("FUZZ = 1\n")
    done = photometer("fuzz", *arguments, cwd=tmp_path)
    assert done.returncode == status, done.stderr
    assert said in " ".join(done.stderr.replace("│", " ").split())
    assert "photometer/cli" not in done.stderr


def test_results_are_saved_as_they_come(tmp_path: Path) -> None:
    photometer("fuzz", "x.abs()", "--fuzzer", "unary", "-n", "3", "--seed", "0", "--max-elements", "50000", *QUICK,
               "-o", "out", cwd=tmp_path)  # fmt: skip
    assert len(json.loads((tmp_path / "out" / "results.json").read_text())["records"]) == 3


def test_when_the_budget_is_over_there_is_a_map_of_what_was_measured(tmp_path: Path) -> None:
    words = ("fuzz", "x.abs()", "--fuzzer", "unary", "-n", "5000", "--seed", "0", "--max-elements", "50000", *QUICK)
    # Over when the first input has been measured, however fast the machine is: one that was begun is finished.
    done = photometer(*words, "--budget", "1e-9", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "--budget are over after 1 of 5000 inputs" in done.stderr
    assert "Inputs: 1 of the unary preset" in done.stdout
    assert len(load_results(tmp_path / "out" / "results.json").of(FuzzTrial)) == 1
    assert "x.abs()" in (tmp_path / "out" / "report.html").read_text()


def test_ctrl_c_shows_what_was_measured(tmp_path: Path) -> None:
    started = subprocess.Popen(
        [
            *(sys.executable, "-m", "photometer", "fuzz", "x.abs()", "--fuzzer", "unary", "-n", "5000", "--seed", "0"),
            *("--max-elements", "50000", "-o", "out", *QUICK),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    results = tmp_path / "out" / "results.json"
    with killed_at_last(started):
        wait_until(lambda: results.exists() and results.read_text().count("fuzz_trial") >= 10)
        started.send_signal(signal.SIGINT)
        shown, complaint = started.communicate(timeout=PATIENCE_SECONDS)
    assert started.returncode == 130, complaint
    assert "stopped after" in complaint
    assert "ns per element" in shown
