from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from photometer.instruments import machine_facts
from photometer.instruments.machine_facts import gather_machine, git_commit, short_flags, stolen_share
from tests.repositories import make_repository
from tests.waiting import PATIENCE_SECONDS


def test_gathers_what_this_machine_is() -> None:
    machine = gather_machine()
    assert machine.logical_cores is not None
    assert machine.logical_cores >= 1
    assert machine.python is not None
    assert machine.python.startswith(f"{sys.version_info.major}.{sys.version_info.minor}.")
    assert machine.kernel
    assert machine.photometer
    assert machine.date


def test_torch_is_described_where_it_is_imported() -> None:
    import torch

    build = gather_machine().torch
    assert build is not None
    assert build.version == torch.__version__
    assert build.git_version == torch.version.git_version
    assert build.debug is False


def test_torch_is_not_imported_for_it() -> None:
    code = (
        "import sys; from photometer.instruments.machine_facts import gather_machine;"
        "assert gather_machine().torch is None; assert 'torch' not in sys.modules; assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE_SECONDS)


def test_commit_of_a_repository_and_whether_it_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_repository(tmp_path, {"f": "1"})
    monkeypatch.setattr(machine_facts, "GIT_TIMEOUT_SECONDS", PATIENCE_SECONDS)
    commit, is_dirty, why = git_commit(tmp_path)
    assert commit is not None
    assert len(commit) == 40
    assert (is_dirty, why) == (False, None)
    (tmp_path / "f").write_text("2")
    assert git_commit(tmp_path)[1] is True


def test_no_repository_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    commit, is_dirty, why = git_commit(tmp_path)
    assert (commit, is_dirty) == (None, None)
    assert why is not None
    assert "not a git repository" in why


def test_no_git_and_a_slow_git_say_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "not installed" in str(git_commit(tmp_path)[2])
    slow = tmp_path / "git"
    slow.write_text("#!/bin/sh\nexec /bin/sleep 30\n")
    slow.chmod(0o755)
    monkeypatch.setattr(machine_facts, "GIT_TIMEOUT_SECONDS", 0.2)
    assert "did not finish" in str(git_commit(tmp_path)[2])


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("cpu  50 0 10 30 0 0 0 10 99 0\ncpu0 1", 0.1),
        ("cpu  1 2 3", None),
        ("intr 1 2 3 4 5 6 7 8 9", None),
        (None, None),
    ],
)
def test_stolen_share(text: str | None, share: float | None) -> None:
    assert stolen_share(text) == share


def test_short_flags() -> None:
    config = "Build settings: CXX_FLAGS= -Wall -O2 -march=native -DNDEBUG -fPIC -g, LAPACK_INFO=mkl, USE_CUDA=0"
    assert short_flags(config) == "-O2 -march=native -DNDEBUG -g"
    assert short_flags("nothing") is None
