"""`photometer run overrides` and `--classic` as a user types them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from photometer.model.results_reader import load_results

QUICK = ("--min-run-time", "0.01", "--no-instructions")


def photometer(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "photometer", "run", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def test_the_ladder_and_its_expectations(tmp_path: Path) -> None:
    case = "torch.add and (Tensor or TorchFunctionOff) and not (Disabled or With or Dispatch or Mode)"
    done = photometer("overrides", "-k", case, *QUICK, "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if re.match(r"  (TorchFunctionOff|Tensor|SubTensor) .* us", line)]
    assert [row.split()[-1] for row in rows[-2:]] == ["TorchFunctionOff", "Tensor"]
    assert "little for a subclass of torch.Tensor: it adds +" in done.stdout
    assert "a couple of microseconds for a tensor-like: not measured: not decided" in done.stdout
    steps = [
        record for record in load_results(tmp_path / "out" / "results.json").records if record["kind"] == "ladder_step"
    ]
    assert [(step["rung"], step["below"]) for step in steps] == [
        ("TorchFunctionOff", None),
        ("Tensor", "TorchFunctionOff"),
        ("SubTensor", "Tensor"),
    ]
    assert steps[2]["added_seconds"] > 0


def test_the_classic_four_lines(tmp_path: Path) -> None:
    done = photometer("overrides", "--classic", *QUICK, "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    form = r"(\w+) +minimum +([\d.]+) us, standard deviation +([\d.]+) us"
    matches = [re.fullmatch(form, line) for line in done.stdout.splitlines()]
    assert all(matches)
    assert [match.group(1) for match in matches if match] == [
        *("Tensor", "SubTensor", "WithTorchFunction", "SubWithTorchFunction")
    ]


def test_a_suite_without_classic_cases_says_so(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        'from photometer.definition import GroupedStmts\nBENCHMARKS = {"a": GroupedStmts("1")}\n'
    )
    done = photometer("mine.py", "--classic", cwd=tmp_path)
    assert done.returncode == 5
    assert "no cases with the tag `classic`" in done.stderr
