"""What an interpreter says of itself, and how one is found by its version."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import pytest

from photometer.environments import interpreter as module
from photometer.environments.interpreter import describe, find_python
from photometer.errors import EnvironmentSpecError


def test_this_interpreter_with_its_torch() -> None:
    found = describe(sys.executable)
    assert found.version == platform.python_version()
    assert found.is_venv == (sys.prefix != sys.base_prefix)
    assert found.torch_folder is not None
    assert Path(found.torch_folder, "version.py").is_file()
    assert found.packages_digest() == describe(sys.executable).packages_digest()


def test_the_callers_python_path_does_not_lead_astray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert describe(sys.executable).torch_folder != str(tmp_path / "torch")


def test_what_is_no_python_is_told(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentSpecError, match="is not a Python"):
        describe("/bin/false")


def test_a_version_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_python(".".join(map(str, sys.version_info[:2]))).executable == sys.executable
    assert find_python(platform.python_version()).executable == sys.executable


def test_a_command_on_path_that_fails_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # pyenv has such a command for every version that is not chosen.
    for folder, text in (("shims", "exit 127"), ("good", f'exec "{sys.executable}" "$@"')):
        (tmp_path / folder).mkdir()
        command = tmp_path / folder / f"python{sys.version_info[0]}.{sys.version_info[1]}"
        command.write_text(f"#!/bin/sh\n{text}\n")
        command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'shims'}{os.pathsep}{tmp_path / 'good'}{os.pathsep}{os.environ['PATH']}")
    version = platform.python_version()
    monkeypatch.setattr(sys, "version", "2.7.18 (another)")
    assert find_python(version).version == version


def test_pyenv_is_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version = platform.python_version()
    (tmp_path / "versions" / version / "bin").mkdir(parents=True)
    (tmp_path / "versions" / version / "bin" / "python").symlink_to(describe(sys.executable).base)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "version", "2.7.18 (another)")
    assert find_python(version).version == version


def test_a_version_that_nobody_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_uv", lambda: None)
    with pytest.raises(EnvironmentSpecError, match=r"no Python 3\.99 on PATH") as told:
        find_python("3.99")
    assert "photometer[environments]" in str(told.value)


def test_a_free_threaded_python_is_another() -> None:
    assert not module._is("3.13", "3.13.0t")
    assert module._is("3.13t", "3.13.0t")
    assert not module._is("3.1", "3.11.7")
