"""Example tests of pytest-benchmark itself run on our `benchmark`: pip fetches them, and nothing of them is kept.

Left out are tests of its insides: those that import its modules, and those in INSIDES. docs/pytest.md says the count.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.pytest_plugin.nested_session import plugin_options

ROOT = Path(__file__).parents[2]
VERSION = "5.3.1"
EXAMPLES = (
    *("test_calibration.py", "test_doctest.rst", "test_normal.py", "test_pedantic.py", "test_precision.py"),
    *("test_sample.py", "test_skip.py", "test_with_testcase.py", "test_with_weaver.py"),
)
# They set or call private attributes of its fixture: _timer, _min_time, _run_until_precise.
INSIDES = (
    *("test_calibrate_stuck", "test_zero_variance_stops_at_min_rounds", "test_never_precise_runs_to_cap"),
    "test_stops_early_when_precise_enough",
)
INI = "[pytest]\naddopts = --strict-markers --doctest-modules --doctest-glob=*.rst\nfilterwarnings = error\n"
PASSED = 47
SKIPPED = 1


def fetch(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", *arguments, "--no-deps", "--disable-pip-version-check", "--quiet"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"pip {arguments[0]} failed: {done.stderr.strip()[-300:]}")


@pytest.mark.nightly
def test_example_tests_of_pytest_benchmark(tmp_path: Path) -> None:
    """Its marks ask for 10 seconds of measuring in four of them, so this takes a minute."""
    fetched, woven, tests = tmp_path / "sdist", tmp_path / "site", tmp_path / "tests"
    fetch("download", f"pytest-benchmark=={VERSION}", "--no-binary", "pytest-benchmark", "--dest", str(fetched))
    fetch("install", "aspectlib", "fields", "--target", str(woven))
    (archive,) = fetched.glob("*.tar.gz")
    tests.mkdir()
    with tarfile.open(archive) as packed:
        for member in packed.getmembers():
            place = Path(member.name)
            content = packed.extractfile(member) if place.parts[1:-1] == ("tests",) else None
            if place.name in EXAMPLES and content is not None:
                (tests / place.name).write_bytes(content.read())
    assert {file.name for file in tests.iterdir()} == set(EXAMPLES)
    (tests / "pytest.ini").write_text(INI)
    report = tmp_path / "junit.xml"
    chosen = ["-k", " and ".join(f"not {name}" for name in INSIDES)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugin_options(), "-p", "no:cacheprovider", f"--junit-xml={report}", *chosen],
        cwd=tests,
        env={**os.environ, "PYTHONPATH": str(woven)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    (suite,) = ElementTree.parse(report).getroot().iter("testsuite")
    counts = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": PASSED + SKIPPED, "failures": 0, "errors": 0, "skipped": SKIPPED}


def test_the_page_says_how_many_pass() -> None:
    text = " ".join((ROOT / "docs" / "pytest.md").read_text().split())
    assert re.search(rf"{PASSED} of .{{0,40}}example tests .{{0,20}}pytest-benchmark {re.escape(VERSION)}", text)
