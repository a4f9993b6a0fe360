"""Which folders of the user's are importable, here and in a server."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from photometer.model.machine import Environment
from photometer.model.own_code import git_root, importable_here, own_folders
from photometer.session.policy import Policy
from photometer.worker.server import make_importable


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for folder in (".git", "src", "benchmarks", "elsewhere"):
        (tmp_path / folder).mkdir()
    (tmp_path / "benchmarks" / "suite.py").write_text("BENCHMARKS = {}")
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path.resolve()


def test_a_suites_file_brings_its_folder_its_git_root_and_src(project: Path) -> None:
    wanted = tuple(str(project / name) for name in ("elsewhere", "benchmarks", "", "src"))
    wanted = tuple(folder.rstrip("/") for folder in wanted)
    assert own_folders([project / "benchmarks" / "suite.py"]) == wanted
    assert own_folders(["../benchmarks/suite.py:NAME"]) == wanted
    assert own_folders(["standard", "package.module:NAME"]) == wanted[:1]
    assert git_root(project / "benchmarks") == project


def test_this_process_passes_on_what_its_interpreter_does_not_have(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", ["", *sys.path, "/some/folder", str(Path(sys.executable).parent)])
    found = importable_here()
    assert found[0] == str(project / "elsewhere")
    assert "/some/folder" in found
    assert not [entry for entry in found if "site-packages" in entry or entry.endswith("lib-dynload")]
    assert str(Path(sys.executable).parent) not in found


def test_they_come_after_the_standard_library_and_before_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/first", "/lib/python", "/x/site-packages", "/pth"])
    make_importable(["/mine", "/first", "/pth"])
    assert sys.path == ["/first", "/lib/python", "/mine", "/x/site-packages", "/pth"]


def test_folders_of_the_python_path_are_not_named_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/a")
    assert Policy().importable(Environment("python", importable=("/a", "/b"))) == ("/b",)
