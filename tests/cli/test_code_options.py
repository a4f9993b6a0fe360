"""Code of the user's own is importable in the commands that run it, and a missing module is told once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.lengthy

SUITE = """
import helper
from photometer import TimerArgs
BENCHMARKS = {
    "src": TimerArgs("package.f()", "import package"),
    "root": TimerArgs("at_root.f()", "import at_root"),
    "beside": TimerArgs("helper.f()", "import helper"),
    "working folder": TimerArgs("here.f()", "import here"),
}
"""
FUZZER = """
import helper
from photometer.fuzzing import Fuzzer, FuzzedParameter, FuzzedTensor
FUZZER = Fuzzer([FuzzedParameter("n", 4, 16, "uniform")], [FuzzedTensor("x", size=("n",))], seed=0)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout with its package in src, and the folder `work` to work in."""
    for place in ("src/package/__init__.py", "at_root.py", "benchmarks/helper.py", "work/here.py"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("def f(): pass\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / "benchmarks" / "suite.py").write_text(SUITE)
    (tmp_path / "benchmarks" / "fuzzer.py").write_text(FUZZER)
    missing = (
        'from photometer import TimerArgs\nBENCHMARKS = {str(i): TimerArgs("m.f()", "import m") for i in range(3)}'
    )
    (tmp_path / "benchmarks" / "missing.py").write_text(missing)
    return tmp_path


def photometer(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command by its entry point, which has not the working folder on its path."""
    code = "import sys; sys.path.remove(''); from photometer.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=project / "work", capture_output=True, text=True, check=False
    )


COMMANDS = {
    "list": ("list", "../benchmarks/suite.py"),
    "time": ("time", "here.f()", "-s", "import here", "--min-run-time", "0.01"),
    "run": ("run", "../benchmarks/suite.py", "--no-instructions", "--min-run-time", "0.01", "-q"),
    "check": ("check", "../benchmarks/suite.py", "-q"),
    "ab": ("ab", "here.f()", "here.f()", "-s", "import here", "--budget", "0.5", "-q"),
    "flame": ("flame", "here.f()", "-s", "import here", "--duration", "1", "--no-native"),
    "fuzz": ("fuzz", "here.f()", "-s", "import here", "--spec", "../benchmarks/fuzzer.py", "-n", "2"),
    "module": ("list", "here_suite:BENCHMARKS"),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "list" else pytest.mark.nightly) for name in COMMANDS]
)
def test_own_code_is_importable(project: Path, name: str) -> None:
    (project / "work" / "here_suite.py").write_text(
        "from photometer import TimerArgs\nBENCHMARKS = {'a': TimerArgs('pass')}\n"
    )
    done = photometer(project, *COMMANDS[name])
    if "py-spy" in done.stderr and name == "flame":
        pytest.skip("py-spy may not look into processes here")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_missing_module_is_told_once_before_anything_runs(project: Path) -> None:
    done = photometer(project, "run", "../benchmarks/missing.py", "--no-instructions", "-q")
    assert done.returncode == 1
    assert done.stderr.count("'import m' fails in 3 benchmarks") == 1
    assert str(project / "src") in done.stderr, "the folders that were searched"
    assert "PYTHONPATH" in done.stderr
    assert not (project / "work" / "photometer-results").exists()
