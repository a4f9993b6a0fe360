"""A benchmark that says itself that it does not apply: skipped in run, check and compare, with its reason."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from photometer.model.results_reader import load_results
from tests.photometer_command import photometer

pytestmark = [pytest.mark.slow, pytest.mark.warm]

SUITE = """
from photometer import TimerArgs

SKIPS = "import os, unittest\\nif 'NEW' not in os.environ: raise unittest.SkipTest('only in the new version')"
BENCHMARKS = {
    "runs": TimerArgs("1 + 1"),
    "new": TimerArgs("2 + 2", SKIPS),
    "never": TimerArgs("3 + 3", "import unittest\\nclass Why(unittest.SkipTest): pass\\nraise Why"),
}
"""
ASV = """
class Suite:
    params = ["list", "set"]

    def setup(self, kind):
        if kind == "set":
            raise NotImplementedError("sets are not sorted")

    def time_sort(self, kind):
        sorted([2, 1])
"""


def test_a_run_and_a_check_go_on_without_them(tmp_path: Path) -> None:
    (tmp_path / "suite.py").write_text(SUITE)
    ran = photometer("run", "suite.py", "--no-instructions", "--min-run-time", "0.01", "-o", "out", cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 of 3 variants measured, 2 skipped." in ran.stdout
    assert "1 skipped: only in the new version (new [python])" in ran.stdout
    assert "1 skipped: no reason was given (never [python])" in ran.stdout
    assert load_results(tmp_path / "out" / "results.json").kinds == {"measurement": 1, "skipped": 2}
    again = photometer("run", "suite.py", "--no-instructions", "-o", "out", "--resume", cwd=tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
    assert load_results(tmp_path / "out" / "results.json").kinds == {"measurement": 1, "skipped": 2}
    checked = photometer("check", "suite.py", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert checked.stdout.strip().endswith("0 have problems; 2 were skipped.")


def test_a_suite_of_asv_skips_as_in_asv(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "sorting.py").write_text(ASV)
    ran = photometer("run", "asv:benchmarks", "--no-instructions", "--min-run-time", "0.01", "-q", cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (record,) = [
        record
        for record in load_results(tmp_path / "photometer-results" / "benchmarks" / "results.json").records
        if record["kind"] == "skipped"
    ]
    assert record["reason"] == "sets are not sorted"


def test_a_comparison_says_on_which_side(tmp_path: Path) -> None:
    (tmp_path / "suite.py").write_text(SUITE)
    words = ("current", "env:NEW=1", "--suite", "suite.py", "--no-instructions", "--budget", "1", "--fail-on", "never")
    done = photometer("compare", *words, "--junit", "junit.xml", "-o", "out", "--flame", "none", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 skipped on the base side: only in the new version (new)" in done.stdout
    assert "1 skipped: no reason was given (never)" in done.stdout
    assert "failed" not in done.stdout
    (junit,) = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert (junit.get("errors"), junit.get("skipped")) == ("0", "2")
