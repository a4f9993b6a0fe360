"""Identical by count: a commit that changes nothing, and time that counts cannot see, with real Valgrind."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from photometer.model.results_reader import load_results
from tests.photometer_command import photometer
from tests.repositories import make_repository

pytestmark = [pytest.mark.valgrind, pytest.mark.slow, pytest.mark.warm]

SUITE = """
from photometer import TimerArgs
SETUP = "import os, time, torch; planted = 'PLANTED' in os.environ"
INDEX = SETUP + "; x = torch.rand(1 << 17); i = torch.randperm(1 << 17) if planted else torch.arange(1 << 17)"
DENORMAL = SETUP + "; x = torch.full((4096,), 1e-39 if planted else 1.0); y = torch.full((4096,), 0.5)"
BENCHMARKS = {
    "waits": TimerArgs("time.sleep(seconds)", SETUP + "; seconds = 20e-3 if planted else 1e-3"),
    "random index": TimerArgs("torch.take(x, i)", INDEX),
    "denormals": TimerArgs("torch.mul(x, y)", DENORMAL),
    "unchanged": TimerArgs("x + 1", "x = torch.ones(3)"),
}
"""


def compare(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return photometer("compare", *words, "-o", "out", "--flame", "none", "--layouts", "1", cwd=folder)


def verdicts(folder: Path) -> dict[str, tuple[str, str, float]]:
    records = load_results(folder / "out" / "comparison.json").records
    return {
        r["title"]: (r["verdict"]["verdict"], r["cause"], r["verdict"]["ratio"])
        for r in records
        if r["kind"] == "comparison"
    }


@pytest.mark.nightly
def test_what_takes_time_without_instructions_is_still_found(tmp_path: Path) -> None:
    (tmp_path / "suite.py").write_text(SUITE)
    done = compare(tmp_path, "current", "env:PLANTED=1", "--suite", "suite.py", "--margin", "0.02")
    assert done.returncode == 3, done.stdout + done.stderr
    found = verdicts(tmp_path)
    for name in ("waits", "random index"):
        word, cause, _ = found[name]
        assert word == "slower", name
        assert "with the same instructions" in cause, name
    # Not every processor is slow with denormals.
    word, _, ratio = found["denormals"]
    assert word == ("slower" if ratio > 1.05 else "identical")
    assert found["unchanged"][0] == "identical"


MODULE = """
import time
import torch

SECONDS = 1e-3


def f(x):
    return (x - x.mean()) * 2


def wait():
    time.sleep(SECONDS)
"""
OWN_SUITE = """
from photometer import TimerArgs
SETUP = "import torch; from mine import f, wait; x = torch.rand(8, requires_grad=True)"
BENCHMARKS = {
    "f": TimerArgs("f(x)", SETUP),
    "backward": TimerArgs("f(x).sum().backward()", SETUP),
    "wait": TimerArgs("wait()", SETUP),
}
"""


def revisions(folder: Path, branch: str) -> Path:
    """Return a repository of two commits; the branch's has a comment and a function more, too."""
    (folder / "suite.py").write_text(OWN_SUITE)
    changed = f"# A comment.\n{branch}\n\ndef unused():\n    return 1\n"
    return make_repository(folder / "repository", {"mine.py": MODULE}, {"mine.py": changed})


def test_what_a_commit_does_not_touch_is_identical_and_time_without_instructions_is_found(tmp_path: Path) -> None:
    repository = revisions(tmp_path, MODULE.replace("1e-3", "20e-3"))
    done = compare(repository, "git:HEAD~1", "git:HEAD", "--suite", "../suite.py", "--margin", "0.02")
    assert done.returncode == 3, done.stdout + done.stderr
    found = verdicts(repository)
    assert {name: word for name, (word, *_) in found.items()} == {
        **{"f": "identical", "backward": "identical"},
        "wait": "slower",
    }
    assert "with the same instructions" in found["wait"][1]
    assert "1 slower, 2 identical" in done.stdout


@pytest.mark.nightly
def test_a_commit_that_changes_a_comment_is_identical(tmp_path: Path) -> None:
    repository = revisions(tmp_path, MODULE)
    done = compare(repository, "git:HEAD~1", "git:HEAD", "--suite", "../suite.py", "-k", "not wait")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {word for word, *_ in verdicts(repository).values()} == {"identical"}
    assert "Nothing is slower. 2 identical." in done.stdout


RANDOM_SUITE = """
from photometer import TimerArgs
SETUP = "import mine; y = torch.rand(300)"
BENCHMARKS = {
    "sort": TimerArgs("y.sort()", SETUP),
    "nonzero": TimerArgs("(y > 0.5).nonzero()", SETUP),
    "unique": TimerArgs("y.mul(100).round().unique()", SETUP),
}
"""


def test_random_data_are_the_same_on_both_sides_of_a_comment(tmp_path: Path) -> None:
    repository = revisions(tmp_path, MODULE)
    (tmp_path / "suite.py").write_text(RANDOM_SUITE)
    done = compare(repository, "git:HEAD~1", "git:HEAD", "--suite", "../suite.py", "--time", "none")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {name: word for name, (word, *_) in verdicts(repository).items()} == dict.fromkeys(
        ("sort", "nonzero", "unique"), "identical"
    )
    records = load_results(repository / "out" / "comparison.json").records
    memories = [record["memory"] for record in records if record["kind"] == "comparison"]
    assert [memory["verdict"] for memory in memories] == ["equal"] * 3
