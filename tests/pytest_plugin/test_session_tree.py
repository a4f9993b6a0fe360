"""The tests of a session in another tree."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from photometer.pytest_plugin.session_tree import SessionTree


@pytest.fixture
def tree(tmp_path: Path) -> SessionTree:
    top = tmp_path / "repository"
    for name in ("conftest.py", "pyproject.toml", "package/code.py", "package/test_inside.py", "package/conftest.py"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(f"new {name}")
    for name in ("tests/conftest.py", "tests/speed/test_speed.py", "tests/data/numbers.txt"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(f"new {name}")
    (top / "tests" / "__pycache__").mkdir()
    return SessionTree(
        top=top,
        root=top,
        started_in=top / "tests",
        configuration=top / "pyproject.toml",
        options=("-q", "--runslow"),
        tests=("tests/speed/test_speed.py::test_one", "package/test_inside.py::test_two"),
        files=(top / "tests/speed/test_speed.py", top / "package/test_inside.py"),
        imports_from_here=True,
    )


def test_a_side_without_a_tree_of_its_own_runs_them_where_they_are(tree: SessionTree) -> None:
    settings = tree.settings(None)
    assert settings.folder == str(tree.top / "tests")
    assert settings.tests == list(tree.tests)
    assert settings.path == [str(tree.top / "tests")]
    assert settings.arguments[:2] == ["-q", "--runslow"]
    assert str(tree.top / "package/test_inside.py") in settings.arguments


def test_paths_lead_into_the_side_s_own_tree(tree: SessionTree, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    settings = tree.settings(checkout)
    assert settings.folder == str(checkout / "tests")
    assert f"--rootdir={checkout}" in settings.arguments
    assert str(checkout / "pyproject.toml") in settings.arguments
    assert not any(str(tree.top) in word for word in settings.arguments)


def test_nothing_is_imported_from_the_folder_if_this_session_does_not(tree: SessionTree) -> None:
    assert dataclasses.replace(tree, imports_from_here=False).settings(None).path == []


def test_the_tests_of_the_session_are_laid_over_and_the_code_is_not(tree: SessionTree, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    for name in ("package/code.py", "package/test_inside.py", "tests/test_old.py", "tests/conftest.py"):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(f"old {name}")
    tree.lay_over(checkout)
    found = {str(file.relative_to(checkout)): file.read_text()[:3] for file in checkout.rglob("*") if file.is_file()}
    assert found == {
        "conftest.py": "new",
        "pyproject.toml": "new",
        "package/code.py": "old",
        "package/conftest.py": "new",
        "package/test_inside.py": "new",
        "tests/conftest.py": "new",
        "tests/data/numbers.txt": "new",
        "tests/speed/test_speed.py": "new",
    }


def test_tests_are_no_code(tree: SessionTree) -> None:
    assert not tree.has_code(["test_speed", "tests.conftest", "tests", "tests.speed.test_speed", "package.test_inside"])
    assert tree.has_code(["test_speed", "package.code"])
