"""`photometer run overrides` and `--classic` as a user types them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from photometer.model.results_reader import load_results
from tests.photometer_command import photometer

pytestmark = [pytest.mark.warm, pytest.mark.lengthy]

QUICK = ("--min-run-time", "0.01", "--no-instructions")


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


def test_the_classic_four_lines(tmp_path: Path) -> None:
    done = photometer("run", "overrides", "--classic", *QUICK, "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    form = r"(\w+) +minimum +([\d.]+) [nµ]s, standard deviation +([\d.]+) [nµ]s"
    matches = [re.fullmatch(form, line) for line in done.stdout.splitlines()]
    assert all(matches)
    assert [match.group(1) for match in matches if match] == [
        *("Tensor", "SubTensor", "WithTorchFunction", "SubWithTorchFunction")
    ]


def test_a_suite_without_classic_cases_says_so(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        'from photometer.definition import GroupedStmts\nBENCHMARKS = {"a": GroupedStmts("1")}\n'
    )
    done = photometer("run", "mine.py", "--classic", cwd=tmp_path)
    assert done.returncode == 5
    assert "no cases with the tag `classic`" in done.stderr
