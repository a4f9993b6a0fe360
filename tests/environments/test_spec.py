"""What a user types for one side: every form, and every mistake with its remedy."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from photometer.environments.spec import GitSource, parse_environment
from photometer.errors import EnvironmentSpecError


def test_current_is_this_interpreter() -> None:
    assert parse_environment("current").interpreter == sys.executable


def test_an_interpreter_keeps_its_link(tmp_path: Path) -> None:
    # A venv's python is a link to the base one: following it would lose the venv.
    folder = tmp_path / "venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "python").symlink_to(sys.executable)
    assert parse_environment("venv", tmp_path).interpreter == str(folder / "python")
    assert parse_environment("venv/bin/python", tmp_path).interpreter == str(folder / "python")


@pytest.mark.parametrize(
    ("text", "revision"),
    [
        ("git:HEAD~1", "HEAD~1"),
        ("git:merge-base:main", "merge-base:main"),
        ("git:WORKTREE", "WORKTREE"),
        ("git:main@{1}", "main@{1}"),
        ("git:@{upstream}", "@{upstream}"),
    ],
)
def test_git_revisions_of_the_repository_here(text: str, revision: str, tmp_path: Path) -> None:
    assert parse_environment(text, tmp_path).git == GitSource(revision, tmp_path)


def test_git_revision_of_a_repository_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert parse_environment("git:v1.0@other", tmp_path).git == GitSource("v1.0", tmp_path / "other")
    assert parse_environment("git:main@{1}@other", tmp_path).git == GitSource("main@{1}", tmp_path / "other")


def test_settings_are_joined(tmp_path: Path) -> None:
    spec = parse_environment("current + env:A=1=2 + env:B= + path:.", tmp_path)
    assert spec.variables == (("A", "1=2"), ("B", ""))
    assert spec.path == (str(tmp_path),)


def test_results_file(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text("{}")
    assert parse_environment("old.json", tmp_path).results == tmp_path / "old.json"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nowhere/python", "names no environment"),
        (".", "folder without bin/python"),
        ("git:", "names no revision"),
        ("git:merge-base:", "names no revision"),
        ("git:--output=x", "does not begin with a dash"),
        ("git:HEAD@missing", "there is no folder"),
        ("git:HEAD + git:main", "two git revisions"),
        ("env:1A=2", "sets no variable"),
        ("env:A", "sets no variable"),
        ("env:PYTHONHASHSEED=1", "cannot be set"),
        ("path:missing", "there is no folder"),
        ("missing.json", "there is no results file"),
        ("current + ", "empty part"),
        ("", "empty part"),
    ],
)
def test_mistakes_are_told(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentSpecError, match=told) as error:
        parse_environment(text, tmp_path)
    assert error.value.remedy


def test_results_cannot_be_joined_and_plain_files_cannot_be_run(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text("{}")
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(EnvironmentSpecError, match="cannot be joined"):
        parse_environment("old.json + env:A=1", tmp_path)
    with pytest.raises(EnvironmentSpecError, match="cannot be executed"):
        parse_environment("notes.txt", tmp_path)
