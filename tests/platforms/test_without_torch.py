"""Plain Python code in an interpreter without torch: everything that does not need it works, the rest says so."""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# They fail if anything has imported torch, or can.
ASSERTS = "import sys; assert not any(name.split('.')[0] == 'torch' for name in sys.modules); v = [1] * 100"
SUITE = f"""
from photometer import GroupedSetup, GroupedStmts, TimerArgs

BENCHMARKS = {{
    "sum": TimerArgs("sum(v)", setup={ASSERTS!r}),
    "sorted": GroupedStmts("sorted(v)", setup=GroupedSetup("v = [1] * 50")),
}}
"""
TESTS = """
def test_sum(photometer):
    assert photometer(sum, [1, 2]) == 3
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return an interpreter with the packages of this one, but for torch and what is built on it."""
    folder = tmp_path_factory.mktemp("without") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (own,) = folder.glob("lib/python*/site-packages")
    for place in site.getsitepackages():
        for entry in Path(place).iterdir():
            if not entry.name.lower().startswith(("torch", "functorch")) and not (own / entry.name).exists():
                (own / entry.name).symlink_to(entry)
    return str(folder / "bin" / "python")


def run(python: str, folder: Path, *words: str, module: str = "photometer") -> subprocess.CompletedProcess[str]:
    (folder / "plain.py").write_text(SUITE)
    variables = {**os.environ, "PHOTOMETER_KEEP": "0", "PHOTOMETER_CACHE": str(folder / "cache")}
    return subprocess.run(
        [python, "-m", module, *words], cwd=folder, capture_output=True, text=True, check=False, env=variables
    )


@pytest.mark.parametrize(
    "words",
    [
        ["time", "sum(v)", "--setup", ASSERTS],
        ["ab", "sum(v)", "len(v)", "--setup", ASSERTS, "--budget", "1"],
        ["run", "plain.py", "--no-instructions"],
        ["check", "plain.py"],
        ["compare", "env:A=1", "env:A=2", "--suite", "plain.py", "--no-instructions", "--budget", "1", "--fail-on", ""],
    ],
    ids=lambda words: words[0],
)
def test_commands_measure_plain_code(python: str, tmp_path: Path, words: list[str]) -> None:
    done = run(python, tmp_path, *words)
    assert done.returncode in (0, 4), done.stderr
    assert "torch" not in done.stderr
    assert "failed" not in done.stdout + done.stderr


@pytest.mark.valgrind
def test_instructions_are_counted(python: str, tmp_path: Path) -> None:
    done = run(python, tmp_path, "ab", "sum(v)", "len(v)", "--setup", ASSERTS, "--budget", "1", "--instructions")
    assert done.returncode == 0, done.stderr
    assert "instructions" in done.stdout


def test_pytest_measures(python: str, tmp_path: Path) -> None:
    (tmp_path / "test_plain.py").write_text(TESTS)
    words = ["-p", "photometer.pytest_plugin", "-p", "no:photometer", "-q", "--photometer-json=results.json"]
    done = run(python, tmp_path, *words, module="pytest")
    assert done.returncode == 0, done.stdout
    record = json.loads((tmp_path / "results.json").read_text().splitlines()[1])
    assert record["test"] == "test_plain.py::test_sum"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["time", "torch.ones(3)"], "torch.ones needs torch"),
        (["ab", "torch.ones(3)", "1"], "torch.ones needs torch"),
        (["time", "1", "--memory"], "measuring what a run allocates needs torch"),
        (["time", "1;", "--cpp"], "C++ snippets are compiled against torch"),
        (["check", "standard", "-k", "zero_"], "needs torch"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_needs_torch_says_so(python: str, tmp_path: Path, words: list[str], told: str) -> None:
    done = run(python, tmp_path, *words)
    assert done.returncode == 1, done.stdout
    assert told in done.stdout + done.stderr
    assert "pip install torch" in done.stdout + done.stderr
