"""Every command gives a child the same surroundings: variables, path, folder, pages, limits. docs/architecture.md."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.warm

# Run by the statement's set-up, in the child. Some values differ from process to process, and are made comparable.
SNAPSHOT = """
import json, os, pathlib, sys
status = pathlib.Path("/proc/self/status").read_text()
seen = {{
    "variables": {{n: v for n, v in os.environ.items() if n not in ("PHOTOMETER_PADDING", "HOME")}},
    "path": [p for p in sys.path if "probes" not in p],
    "folder": os.getcwd(),
    "huge_pages": [line for line in status.splitlines() if line.startswith("THP_enabled")],
    "has_memory_limit": any(
        line.startswith("Max data size") and "unlimited" not in line
        for line in pathlib.Path("/proc/self/limits").read_text().splitlines()
    ),
    "layout_is_frozen": int(pathlib.Path("/proc/self/personality").read_text(), 16) & 0x40000 != 0,
    "environment_bytes": len(pathlib.Path("/proc/self/environ").read_bytes()) % 8192 < 20,
    "threads": __import__("torch").get_num_threads(),
}}
with open({file!r}, "a") as file:
    file.write(json.dumps(seen) + "\\n")
"""
# Valgrind cannot imitate AVX-512, so that code made for the real processor is kept from using it.
ONLY_UNDER_VALGRIND = {"ATEN_CPU_CAPABILITY", "TORCHINDUCTOR_CPP_MARCH", "TORCHINDUCTOR_COMPILE_THREADS"}
# Set by Valgrind itself for the program that it starts.
VALGRINDS_OWN = {
    *("LD_LIBRARY_PATH", "LD_PRELOAD", "GLIBCPP_FORCE_NEW", "GLIBCXX_FORCE_NEW", "PWD", "OLDPWD", "_"),
    "environment_bytes",
}
SUITE = """
from photometer import TimerArgs
BENCHMARKS = {{"one": TimerArgs("pass", {setup!r})}}
"""


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    (tmp_path / "suite.py").write_text(SUITE.format(setup=SNAPSHOT.format(file=str(tmp_path / "seen.jsonl"))))
    return SNAPSHOT.format(file=str(tmp_path / "seen.jsonl"))


def seen_by(tmp_path: Path, *command: str, code: int = 0) -> list[dict[str, Any]]:
    file = tmp_path / "seen.jsonl"
    file.unlink(missing_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "SOMETHING_OF_THE_USERS": "1"}
    done = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return [json.loads(line) for line in file.read_text().splitlines()]


def different(one: dict[str, Any], other: dict[str, Any]) -> set[str]:
    """The names of what differs; of variables, theirs."""
    names = {name for name in one if name != "variables" and one[name] != other[name]}
    ours, theirs = one["variables"], other["variables"]
    return names | {name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("run", "compare", "ab"), id="some"),
        pytest.param(("run", "check", "compare", "calibrate", "flame", "ab"), id="all", marks=pytest.mark.nightly),
    ],
)
def test_every_command_gives_a_child_the_same_surroundings(
    tmp_path: Path, snapshot: str, names: tuple[str, ...]
) -> None:
    photometer = ("-m", "photometer")
    library = f"import photometer; photometer.ab('pass', 'pass', setup={snapshot!r}, budget=0.5)"
    commands = {
        "run": (*photometer, "run", "suite.py", "--no-instructions", "--min-run-time", "0.01", "-q", "-o", "run"),
        "check": (*photometer, "check", "suite.py", "-q"),
        "compare": (*photometer, "compare", "current", "current", "--suite", "suite.py", "--budget", "0.5"),
        "calibrate": (*photometer, "calibrate", "--suite", "suite.py", "--budget", "0.5"),
        "flame": (*photometer, "flame", "suite.py", "--duration", "1", "--no-native"),
        "ab": ("-c", library),
    }
    codes = {"compare": (0, ("--no-instructions", "--layouts", "1"))}
    found = {}
    assert set(names) <= set(commands)
    for name in names:
        command = commands[name]
        code, more = codes.get(name, (0, ()))
        found[name] = seen_by(tmp_path, *command, *more, code=code)
    reference = found["run"][0]
    assert reference["path"][0] == str(tmp_path)
    assert "SOMETHING_OF_THE_USERS" not in reference["variables"]
    assert reference["has_memory_limit"]
    for name, snapshots in found.items():
        for each in snapshots:
            # A probe leaves its result in the folder that it runs in.
            assert different(reference, each) - ({"folder"} if name == "check" else set()) == set(), name


@pytest.mark.slow
@pytest.mark.valgrind
def test_a_child_that_counts_differs_in_what_valgrind_needs_alone(tmp_path: Path, snapshot: str) -> None:
    (reference, *_) = seen_by(
        tmp_path, *("-m", "photometer", "run", "suite.py", "--no-instructions", "--min-run-time", "0.01", "-q")
    )
    counts = f"import photometer; photometer.Timer('pass', {snapshot!r}).count_instructions()"
    # The first is of this process, which tries the statement before it starts Valgrind.
    counting = seen_by(tmp_path, "-c", counts)[1:]
    assert counting
    for each in counting:
        assert different(reference, each) - VALGRINDS_OWN <= ONLY_UNDER_VALGRIND
