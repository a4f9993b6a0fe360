"""Suites of other tools, run, checked and compared by the commands on real workers."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from photometer.analysis.order_facts import collect_facts
from photometer.model.results_reader import load_results
from tests.definition.loaders.projects import asv_project, operator_file, triton_file
from tests.photometer_command import photometer
from tests.repositories import git

pytestmark = [pytest.mark.slow, pytest.mark.warm]
QUICKLY = ("--no-instructions", "--min-run-time", "0.001")


def run_in(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return photometer(*words, cwd=folder, PHOTOMETER_CACHE=str(folder / "cache"))


def test_an_asv_suite_runs(tmp_path: Path) -> None:
    asv_project(tmp_path)
    done = run_in(tmp_path, "run", "asv:benchmarks", *QUICKLY, "-k", "not kind=tuple")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "timeraw_import left out" in done.stderr
    facts = {
        each.title: each
        for each in collect_facts(load_results(tmp_path / "photometer-results/benchmarks/results.json").records)
    }
    assert facts["sums › Sums › time_sum [n=1000, kind=list]"].seconds
    metrics = facts["sums › Sums › track_length [n=1000, kind=list]"].metrics
    assert metrics is not None
    assert metrics.metrics[0].median == 1000.0
    assert facts["sums › Cached › time_of › param1=<built-in function max>"].seconds


def test_operator_benchmarks_run_and_are_checked(tmp_path: Path) -> None:
    operator_file(tmp_path)
    done = run_in(tmp_path, "run", "operator_benchmark:pt/add_test.py", *QUICKLY)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 of 8 variants measured." in done.stdout
    checked = run_in(tmp_path, "check", "operator_benchmark:pt/add_test.py", "--tag", "short")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "6 variants" in checked.stdout


def test_plots_of_triton_run_what_they_pass_to_do_bench(tmp_path: Path) -> None:
    triton_file(tmp_path)
    done = run_in(tmp_path, "run", "triton:01-bench.py", *QUICKLY)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 of 4 variants measured." in done.stdout


def test_a_suite_for_an_accelerator_says_that_there_is_none(tmp_path: Path) -> None:
    file = triton_file(tmp_path)
    file.write_text(file.read_text() + "# on cuda\n")
    done = run_in(tmp_path, "run", "triton:01-bench.py", *QUICKLY)
    assert done.returncode == 5
    assert "all benchmarks need cuda" in done.stderr


def test_both_sides_run_the_benchmarks_of_the_working_tree_on_their_own_code(tmp_path: Path) -> None:
    """The first commit has no benchmarks at all, and other code than the second."""
    benchmarks = asv_project(tmp_path)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "ourlib.py")
    git(tmp_path, "commit", "-q", "-m", "first")
    (tmp_path / "ourlib.py").write_text("def work(values):\n    return sum(values) + sum(values) + sum(values)\n")
    git(tmp_path, "commit", "-q", "-a", "-m", "second")
    (tmp_path / "ourlib.py").write_text("raise ImportError('the working tree is neither side')\n")
    text = (benchmarks / "sums.py").read_text().replace("from ourlib import work", "")
    (benchmarks / "sums.py").write_text(text.replace("        work(", "        from ourlib import work\n        work("))
    done = run_in(
        tmp_path,
        *("compare", "git:HEAD~1", "git:HEAD", "--suite", "asv:benchmarks", "-k", "time_sum and n=1000 and kind=list"),
        *("--no-instructions", "--no-memory", "--json", "--budget", "120"),
    )
    assert done.returncode == 3, done.stdout + done.stderr
    (result,) = json.loads(done.stdout)
    assert result["verdict"]["verdict"] == "slower"
