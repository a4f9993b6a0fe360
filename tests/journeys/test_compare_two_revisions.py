"""The real thing: two revisions of a small tensor-subclass package, of which one made `__torch_function__` slower."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.photometer_command import photometer
from tests.repositories import git, make_repository

pytestmark = pytest.mark.warm

PACKAGE = """
import torch

class Tagged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
{work}        return super().__torch_function__(func, types, args, kwargs or {{}})
"""
# Some ten microseconds on top of a few, far beyond the margin: no load hides that.
SLOWER = "        for kind in types * 200:\n            issubclass(kind, cls)\n"
SUITE = """
from photometer import GroupedSetup, GroupedStmts

SETUP = GroupedSetup("import tagged\\nx = torch.rand(4)\\nt = torch.rand(4).as_subclass(tagged.Tagged)")
BENCHMARKS = {
    "rung": {
        "plain tensor": GroupedStmts("y = torch.add(x, x)", setup=SETUP, signature="f(x) -> y"),
        "torch function": GroupedStmts("y = torch.add(t, t)", setup=SETUP, signature="f(t) -> y"),
    }
}
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    module = "src/tagged/__init__.py"
    folder = make_repository(
        tmp_path_factory.mktemp("tagged-repository"),
        {"suite.py": SUITE, module: PACKAGE.format(work="")},
        {module: PACKAGE.format(work=SLOWER)},
    )
    # What the user is in the midst of, and would hate to lose.
    (folder / module).write_text("raise RuntimeError('unfinished')\n")
    (folder / "notes.txt").write_text("mine\n")
    return folder


def compare(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return photometer("compare", *arguments, cwd=folder)


def state(folder: Path) -> tuple[str, ...]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return (
        git(folder, "status", "--porcelain", "--ignored"),
        git(folder, "rev-parse", "HEAD"),
        git(folder, "worktree", "list"),
        *(f"{path} {path.stat().st_mtime_ns}" for path in files),
    )


@pytest.mark.slow
def test_the_slower_rung_is_named_and_the_working_tree_untouched(repository: Path, tmp_path: Path) -> None:
    before = state(repository)
    sides = ["git:HEAD~1", "git:HEAD", "--suite", "suite.py", "--no-instructions", "--flame", "none", "--layouts", "2"]
    sides += ["--margin", "0.5", "--no-memory"]
    done = compare(repository, *sides, "--budget", "120", "-o", str(tmp_path / "out"))
    assert done.returncode == 3, done.stdout + done.stderr
    verdicts = {line.split("rung › ")[1]: line.split()[0] for line in done.stdout.splitlines() if "rung › " in line}
    assert verdicts["torch function"] == "slower"
    assert verdicts["plain tensor"] in ("same", "undecided")
    assert "in other layouts" in " ".join(done.stdout.split()).lower()
    assert "both sides run the same" not in done.stdout
    assert state(repository) == before

    records = json.loads((tmp_path / "out" / "comparison.json").read_text())["records"]
    samples = [record for record in records if record["kind"] == "comparison_replicate"]
    (verdict,) = [
        record for record in records if record["kind"] == "comparison" and "torch function" in record["title"]
    ]
    # A report shows the code that was compared.
    assert verdict["order"]["label"] == ["rung", "torch function"]
    assert verdict["task_spec"]["stmt"]
    assert all(len(s["base_block_nanoseconds"]) == len(s["branch_block_nanoseconds"]) >= 6 for s in samples)
    assert (tmp_path / "out" / "comparison.md").read_text().startswith("🔴")

    # Everything is decided or the budget spent: continuing takes no further replicate and says the same.
    again = compare(repository, *sides, "--budget", "1", "-o", str(tmp_path / "out"), "--resume")
    assert again.returncode == 3, again.stdout + again.stderr
    records = json.loads((tmp_path / "out" / "comparison.json").read_text())["records"]
    assert sum(record["kind"] == "comparison_replicate" for record in records) == len(samples)


@pytest.mark.slow
def test_a_broken_working_tree_fails_on_its_side(repository: Path) -> None:
    quick = ("--no-instructions", "--no-memory", "--layouts", "1")
    done = compare(repository, "git:HEAD", "git:WORKTREE", "--suite", "suite.py", *quick, "-k", "plain")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "failed on the branch side: rung › plain tensor: RuntimeError: unfinished" in done.stdout


@pytest.mark.slow
def test_a_checkout_that_nothing_is_imported_from_is_told(repository: Path, tmp_path: Path) -> None:
    suite = tmp_path / "elsewhere.py"
    suite.write_text("from photometer import TimerArgs\nBENCHMARKS = {'a': TimerArgs('sum(v)', 'v = [1] * 99')}\n")
    quick = ("--no-instructions", "--no-memory", "--layouts", "1", "--budget", "0.5")
    done = compare(repository, "git:HEAD~1", "git:HEAD", "--suite", str(suite), *quick)
    assert done.returncode in (0, 4), done.stdout + done.stderr
    assert "both sides run the same installed code" in " ".join(done.stdout.split())
