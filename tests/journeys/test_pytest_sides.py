"""`pytest --photometer-compare` where a side must be built, forks, or dies: one message, a verdict at once, an end."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.environments.extension_project import INSTALL, make_project
from tests.pytest_plugin.nested_session import plugin_options
from tests.waiting import wait_until_gone

pytestmark = pytest.mark.slow

# A test that leaves a process behind, and then dies.
DIES = """
    import os, signal, time

    def test_dies(photometer):
        left = os.fork()
        if not left:
            time.sleep(300)
            os._exit(0)
        with open(os.path.dirname(__file__) + "/left", "a") as file:
            file.write(f"{left} ")
        os.kill(os.getpid(), signal.SIGKILL)

    def test_forks(photometer):
        if not os.fork():
            # It comes back to pytest, as a test that forgot to end its fork does.
            return
        photometer(sum, [1, 2])
"""


def compare(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin_options()]
    command += ["--photometer-no-instructions", "--photometer-budget=2", *options]
    variables = {**os.environ, "PHOTOMETER_CACHE": str(folder.parent / "cache"), "COLUMNS": "120"}
    # It ends within seconds; a side that is waited for would take a quarter of an hour.
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=variables, timeout=600)


@pytest.mark.compiler
def test_revisions_that_must_be_built(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    (project / "pytest.ini").write_text("[pytest]\n")
    told = compare(project, "--photometer-compare=git:HEAD~1")
    assert told.returncode == 1, told.stdout
    # In CI, pytest's own summary repeats the whole reason.
    reported, _, _ = told.stdout.partition("short test summary")
    assert reported.count('--photometer-install "pip install ."') == 1
    assert "1 failed" in told.stdout
    sides = ("--photometer-compare=git:HEAD~1", f"--photometer-install={INSTALL}")
    # The later option counts: the verdict ends the measurement long before.
    built = compare(project, *sides, "--photometer-budget=60")
    assert built.returncode == 1, built.stdout + built.stderr
    assert "2 failed" in built.stdout
    assert "photometer: making git:HEAD~1" in built.stdout
    # Each verdict when it stands, above the report of failures, also with -q.
    before, _, _ = built.stdout.partition("FAILURES")
    assert "tests/test_speed.py::test_pile" in before
    assert "slower +" in before


def test_a_test_that_forks_or_dies_does_not_keep_pytest_from_ending(tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(textwrap.dedent(DIES))
    done = compare(folder, "--photometer-compare=env:A=1", "--photometer-branch=env:A=2")
    assert "the side's pytest ended" in done.stdout, done.stdout
    assert "1 failed, 1 passed" in done.stdout
    left = [int(pid) for pid in (folder / "left").read_text().split()]
    assert left
    wait_until_gone(left)
