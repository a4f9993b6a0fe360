"""Worktrees of a small repository: right files, the user's tree untouched, everything gone at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.environments.spec import GitSource
from photometer.environments.worktree import Worktrees, has_modules, resolve
from photometer.errors import EnvironmentSpecError
from tests.repositories import git, make_repository


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    versions = ({"module.py": f"VALUE = {text!r}\n"} for text in ("one", "two"))
    return make_repository(tmp_path / "repository", *versions)


def test_revisions_lie_in_folders_of_one_length(repository: Path) -> None:
    with Worktrees() as worktrees:
        old = worktrees.check_out(GitSource("HEAD~1", repository))
        new = worktrees.check_out(GitSource("HEAD", repository))
        tree = worktrees.check_out(GitSource("WORKTREE", repository))
        texts = [(side.folder / "module.py").read_text() for side in (old, new, tree)]
        assert texts == ["VALUE = 'one'\n", "VALUE = 'two'\n", "VALUE = 'two'\n"]
        assert len({len(str(side.folder)) for side in (old, new, tree)}) == 1
        assert old.commit == git(repository, "rev-parse", "HEAD~1")


def test_nothing_is_left(repository: Path) -> None:
    before = git(repository, "worktree", "list")
    folders = []

    def stopped_in_the_middle() -> None:
        with Worktrees() as worktrees:
            folders.extend([worktrees.folder, worktrees.check_out(GitSource("HEAD~1", repository)).folder])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped_in_the_middle()
    assert not any(folder.exists() for folder in folders)
    assert git(repository, "worktree", "list") == before
    assert git(repository, "status", "--porcelain") == ""


def test_what_a_killed_one_left_registered_is_removed(repository: Path) -> None:
    import shutil

    killed = Worktrees()
    killed.check_out(GitSource("HEAD~1", repository))
    shutil.rmtree(killed.folder)
    assert len(git(repository, "worktree", "list").splitlines()) == 2
    with Worktrees() as worktrees:
        worktrees.check_out(GitSource("WORKTREE", repository))
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_the_users_own_lost_worktrees_are_left_alone(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", "--detach", str(tmp_path / "own"), "HEAD")
    (tmp_path / "own").rename(tmp_path / "moved")
    with Worktrees() as worktrees:
        worktrees.check_out(GitSource("HEAD~1", repository))
    assert len(git(repository, "worktree", "list").splitlines()) == 2


def test_worktree_is_a_copy_of_changed_and_new_files(repository: Path) -> None:
    (repository / ".gitignore").write_text("*.so\n*.log\n")
    (repository / "module.py").write_text("VALUE = 'three'\n")
    (repository / "new.py").write_text("")
    (repository / "built.so").write_text("")
    (repository / "much.log").write_text("")
    with Worktrees() as worktrees:
        first = worktrees.check_out(GitSource("WORKTREE", repository))
        assert (first.folder / "module.py").read_text() == "VALUE = 'three'\n"
        assert (first.folder / "new.py").exists()
        assert (first.folder / "built.so").exists()
        assert not (first.folder / "much.log").exists()
        assert first.is_changed
        again = worktrees.check_out(GitSource("WORKTREE", repository))
        assert again.tree_digest == first.tree_digest
        (repository / "module.py").write_text("VALUE = 'four'\n")
        assert worktrees.check_out(GitSource("WORKTREE", repository)).tree_digest != first.tree_digest
        # The copy does not follow what the user writes meanwhile.
        assert (first.folder / "module.py").read_text() == "VALUE = 'three'\n"


def test_no_hook_of_the_user_runs(repository: Path, tmp_path: Path) -> None:
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
    hook.chmod(0o755)
    with Worktrees() as worktrees:
        worktrees.check_out(GitSource("HEAD~1", repository))
    assert not (tmp_path / "ran").exists()


def test_merge_base_is_where_the_branch_left(repository: Path) -> None:
    left = git(repository, "rev-parse", "HEAD")
    git(repository, "checkout", "-qb", "branch")
    (repository / "module.py").write_text("VALUE = 'branch'\n")
    git(repository, "commit", "-qam", "branch")
    git(repository, "checkout", "-q", "main")
    (repository / "other.py").write_text("")
    git(repository, "add", "other.py")
    git(repository, "commit", "-qm", "main goes on")
    git(repository, "checkout", "-q", "branch")
    assert resolve(repository, "merge-base:main") == left


def test_src_layout_is_recognised(repository: Path) -> None:
    with Worktrees() as worktrees:
        checkout = worktrees.check_out(GitSource("HEAD", repository))
        flat = checkout.import_paths
        assert flat == (str(checkout.folder),)
        package = checkout.folder / "src" / "package"
        package.mkdir(parents=True)
        assert not has_modules(package.parent)
        (package / "__init__.py").write_text("")
        assert checkout.import_paths == (str(package.parent), *flat)


@pytest.mark.parametrize("revision", ["nothing", "merge-base:nothing"])
def test_unknown_revisions_are_told(repository: Path, revision: str) -> None:
    with Worktrees() as worktrees, pytest.raises(EnvironmentSpecError, match="found nothing"):
        worktrees.check_out(GitSource(revision, repository))


def test_a_folder_without_repository_is_told(tmp_path: Path) -> None:
    with Worktrees() as worktrees, pytest.raises(EnvironmentSpecError, match="not a git repository"):
        worktrees.check_out(GitSource("HEAD", tmp_path))
