"""`photometer compare` without sides: the working tree against where it left the branch that work goes into."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.ci.default_sides import default_sides, with_python
from photometer.ci.project import ProjectSettings
from photometer.ci.project_store import store_of
from photometer.cli.suite_options import chosen_suites
from photometer.errors import DefinitionError
from tests.repositories import git

NOTHING = ProjectSettings()


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    origin = tmp_path / "origin"
    origin.mkdir()
    git(origin, "init", "-q")
    git(origin, "commit", "-qm", "first", "--allow-empty")
    git(origin, "branch", "release")
    git(tmp_path, "clone", "-q", str(origin), "clone")
    monkeypatch.chdir(tmp_path / "clone")
    return tmp_path / "clone"


@pytest.mark.parametrize(
    ("variables", "base"),
    [
        ({}, "git:merge-base:origin/HEAD"),
        ({"GITHUB_BASE_REF": "release"}, "git:merge-base:origin/release"),
        ({"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "release", "GITHUB_BASE_REF": ""}, "git:merge-base:origin/release"),
    ],
)
def test_the_branch_that_work_goes_into(clone: Path, variables: dict[str, str], base: str) -> None:
    assert default_sides(NOTHING, variables) == [base, "git:WORKTREE"]


def test_the_project_says_otherwise(clone: Path) -> None:
    assert default_sides(ProjectSettings(base="git:v1", python="3.12"), {}) == [
        "git:v1 + python:3.12",
        "git:WORKTREE + python:3.12",
    ]
    assert with_python("pip:torch==2.13.0", ".venv") == "pip:torch==2.13.0"


def test_a_branch_that_is_not_there_is_to_be_fetched(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DefinitionError, match="there is no branch gone here") as caught:
        default_sides(NOTHING, {"GITHUB_BASE_REF": "gone"})
    assert "fetch-depth: 0" in str(caught.value)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DefinitionError, match="not in a git repository"):
        default_sides(NOTHING, {})


def test_options_come_before_the_project(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PHOTOMETER_STORE", raising=False)
    (clone / "pyproject.toml").write_text(
        '[tool.photometer]\nsuite = "standard"\ntags = ["quick"]\nstore = "h.sqlite"\n'
    )
    own = chosen_suites(None, None)
    assert (own.names, own.tags) == (["standard"], ["quick"])
    assert chosen_suites(None, ["other"]).tags == ["other"]
    # The project's tags are for the project's suite.
    assert chosen_suites(["mine.py"], None).tags == []
    assert store_of(None) == str(clone / "h.sqlite")
    assert store_of("none") == "none"
    monkeypatch.setenv("PHOTOMETER_STORE", "elsewhere")
    assert store_of(None) is None
