"""Commits on their way to a node."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from photometer.commits.lane import CommitLane
from photometer.errors import EnvironmentSpecError
from photometer.remote.node_worker import pack_commits, unpack_commits
from photometer.session.session import Session
from tests.repositories import commit_files, git, make_repository


@pytest.fixture
def commits(tmp_path: Path) -> list[str]:
    repository = make_repository(tmp_path / "repository")
    return [
        commit_files(repository, {"layers.py": f"NUMBER = {number}\n", "same.py": "SAME = True\n" * 1000})
        for number in range(4)
    ]


def test_commits_arrive_with_their_names_and_files_and_nothing_else(tmp_path: Path, commits: list[str]) -> None:
    pack = pack_commits(tmp_path / "repository", [commits[1], commits[3]])
    there = unpack_commits(pack, [commits[1], commits[3]], tmp_path / "there")
    assert git(there, "show", f"{commits[1]}:layers.py") == "NUMBER = 1"
    assert git(there, "log", "--format=%H", commits[3]) == commits[3]
    with pytest.raises(subprocess.CalledProcessError):
        git(there, "cat-file", "-e", commits[0])


def test_a_lane_goes_from_commit_to_commit_there(tmp_path: Path, commits: list[str]) -> None:
    pack = pack_commits(tmp_path / "repository", commits)
    there = unpack_commits(pack, commits, tmp_path / "there")
    with CommitLane(there) as lane:
        for number in (3, 0, 2):
            session = lane.at(commits[number])
            assert isinstance(session, Session)
            (folder,) = session.environment.path
            assert Path(folder, "layers.py").read_text() == f"NUMBER = {number}\n"


def test_a_commit_that_is_not_there(tmp_path: Path, commits: list[str]) -> None:
    with pytest.raises(EnvironmentSpecError, match="could not be sent"):
        pack_commits(tmp_path / "repository", ["0" * 40])
