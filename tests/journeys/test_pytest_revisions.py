"""`pytest --photometer-compare` on a small repository: two revisions, real processes, with and without Valgrind."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

from photometer.analysis.comparison_result import ComparisonResult
from photometer.model.results_reader import load_results
from tests.pytest_plugin.nested_session import plugin_options, run_nested
from tests.repositories import git

pytestmark = pytest.mark.warm

CODE = """
    import torch

    def double(x):
        return x + x

    def total(x):
        return x.sum()
"""
SLOWER = CODE.replace("return x + x", "return (x + x).clone().clone()").replace(
    "    def total(x):", "    # What it adds up to.\n    def total(x):"
)
TESTS = """
    import pytest
    import tinypackage
    import torch

    @pytest.fixture
    def x():
        torch.manual_seed(0)
        return torch.randn(16, 16)

    def test_plain():
        pass

    def test_double(photometer, x):
        assert photometer(tinypackage.double, x).shape == x.shape

    @pytest.mark.parametrize("n", [16])
    def test_total(benchmark, n):
        benchmark(tinypackage.total, torch.ones(n, n))
"""
NEW_TEST = """
    def test_new(photometer, x):
        photometer(tinypackage.new, x)
"""


@dataclasses.dataclass(frozen=True)
class Compared:
    code: int
    output: str
    verdicts: Mapping[str, str]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A branch that slows one function down, adds another, and tests that."""
    top = tmp_path / "repository"
    (top / "src" / "tinypackage").mkdir(parents=True)
    (top / "tests").mkdir()
    module, tests = top / "src" / "tinypackage" / "__init__.py", top / "tests" / "test_speed.py"
    module.write_text(textwrap.dedent(CODE))
    tests.write_text(textwrap.dedent(TESTS))
    (top / "pyproject.toml").write_text('[tool.pytest.ini_options]\ntestpaths = ["tests"]\npythonpath = ["src"]\n')
    git(top, "init", "-q", "-b", "main")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "first")
    git(top, "checkout", "-q", "-b", "feature")
    module.write_text(textwrap.dedent(SLOWER) + "\ndef new(x):\n    return -x\n")
    tests.write_text(textwrap.dedent(TESTS) + textwrap.dedent(NEW_TEST))
    git(top, "commit", "-q", "-a", "-m", "second")
    return top


def compare(repository: Path, *options: str) -> Compared:
    file = repository.parent / "results.json"
    command = [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider", *plugin_options(), *options]
    command += ["--photometer-compare=git:merge-base:main", f"--photometer-json={file}"]
    done = subprocess.run(
        command, cwd=repository, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "120"}
    )
    results = load_results(file).of(ComparisonResult) if file.exists() else []
    verdicts = {result.title.partition("::")[2]: result.verdict for result in results}
    return Compared(done.returncode, done.stdout + done.stderr, verdicts)


@pytest.mark.nightly
def test_a_slower_test_fails_and_a_new_one_is_skipped(repository: Path) -> None:
    compared = compare(
        repository, "--photometer-no-instructions", "--photometer-budget=3", "-k", "double or new or plain"
    )
    assert compared.verdicts == {"test_double": "slower"}, compared.output
    assert compared.code == 1
    assert "slower by +" in compared.output
    assert "the base cannot run it" in compared.output
    assert "1 failed, 1 skipped, " in compared.output
    # A skip is no failure in the table, either.
    assert "The branch is slower. 1 slower, 1 skipped." in compared.output
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=repository, capture_output=True, text=True, check=True
    )
    assert not [line for line in status.stdout.splitlines() if "__pycache__" not in line]


@pytest.mark.slow
def test_tests_are_compared_on_several_sides(repository: Path) -> None:
    compared = compare(
        repository,
        "--photometer-no-instructions",
        "--photometer-budget=6",
        "--photometer-branch=git:main",
        "--photometer-branch=git:feature",
        "-k",
        "double",
    )
    results = load_results(repository.parent / "results.json").of(ComparisonResult)
    words = {result.side: result.verdict for result in results}
    assert words[2] == "slower", compared.output
    assert words[1] != "slower"
    assert compared.code == 1
    assert "Slower than merge-base:main: feature in 1" in compared.output


@pytest.mark.nightly
@pytest.mark.valgrind
def test_counts_come_first_and_the_cause_is_told(repository: Path) -> None:
    compared = compare(repository, "--photometer-budget=6")
    assert compared.verdicts == {"test_double": "slower", "test_total[16]": "identical"}, compared.output
    assert "more instructions and slower" in compared.output
    assert "double" in compared.output
    assert "clone" in compared.output


BENCHMARK = "def test_max(photometer):\n    photometer(max, 1, 2)\n"


def test_it_takes_one_test_at_a_time(tmp_path: Path) -> None:
    done = run_nested(tmp_path, BENCHMARK, "--photometer-compare=current", "-n2")
    assert done.code == 4
    assert "leave out -n, or add -n0" in done.output


@pytest.mark.lengthy
def test_a_base_that_is_not_there_is_told(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    done = run_nested(tmp_path, BENCHMARK, "--photometer-compare=git:gone")
    assert done.code == 4
    assert "there is no commit" in done.output
