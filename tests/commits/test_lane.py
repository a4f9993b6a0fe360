"""Commits take turns in one folder and one session; nothing of one is left when the next is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.commits.lane import CommitLane, LastingSession
from photometer.errors import EnvironmentSpecError
from tests.history.project import Project
from tests.repositories import commit_files, make_repository


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "project")
    made.grow(3)
    return made


def test_commits_take_turns_in_one_folder_with_one_session(project: Project) -> None:
    with CommitLane(project.folder) as lane:
        first = lane.at(project.shas[0])
        (folder,) = (Path(path) for path in first.environment.path)
        assert "# commit 0" in (folder / "toy" / "__init__.py").read_text()
        (folder / "toy" / "__pycache__").mkdir()
        (folder / "left.py").write_text("what a benchmark has left behind")
        second = lane.at(project.shas[2])
        assert second is first
        assert "# commit 2" in (folder / "toy" / "__init__.py").read_text()
        # Compiled modules of the commit before might be taken for this one's: same second, same size.
        assert not (folder / "toy" / "__pycache__").exists()
        assert not (folder / "left.py").exists()
    assert not folder.exists()
    assert len(project.git("worktree", "list").splitlines()) == 1
    assert project.git("status", "--porcelain") == ""


def test_another_layout_of_the_packages_has_a_session_of_its_own(project: Project) -> None:
    project.git("mv", "toy", "source")
    (project.folder / "src").mkdir()
    project.git("mv", "source", "src/toy")
    project.git("commit", "-q", "-m", "move", when=1_800_000_000)
    with CommitLane(project.folder) as lane:
        before = lane.at(project.shas[2])
        after = lane.at(project.git("rev-parse", "HEAD"))
        assert after is not before
        assert Path(after.environment.path[0]).name == "src"


def test_submodules_take_turns_too(project: Project, tmp_path: Path) -> None:
    inner = make_repository(tmp_path / "inner", {"inner.py": "1"})
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "dep")
    project.git("commit", "-q", "-m", "a submodule", when=1_800_000_000)
    first = project.git("rev-parse", "HEAD")
    commit_files(project.folder / "dep", {"inner.py": "2", "new.py": ""})
    project.git("commit", "-qam", "its next commit", when=1_800_000_100)
    second = project.git("rev-parse", "HEAD")
    with CommitLane(project.folder) as lane:
        folder = Path(lane.at(second).environment.path[0])
        assert (folder / "dep" / "inner.py").read_text() == "2"
        lane.at(first)
        assert (folder / "dep" / "inner.py").read_text() == "1"
        assert not (folder / "dep" / "new.py").exists()
        lane.at(project.shas[0])
        assert not (folder / "dep").exists()


def test_a_commit_that_is_not_there_is_an_error(project: Project) -> None:
    with CommitLane(project.folder) as lane:
        lane.at(project.shas[0])
        with pytest.raises(EnvironmentSpecError, match="could not be checked out"):
            lane.at("f" * 40)


def test_a_run_that_fails_does_not_end_the_session_of_the_next() -> None:
    session = LastingSession()
    session.kill()
    session.close()
    assert not session._killed
    session.end_at_once()
    assert session._killed
