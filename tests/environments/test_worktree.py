"""Worktrees of a small repository: right files, the user's tree untouched, everything gone at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.environments.spec import GitSource
from photometer.environments.worktree import Worktrees, check_revisions, checked_out_submodules, has_modules, resolve
from photometer.errors import EnvironmentSpecError
from photometer.session.remarks import remarks_to
from tests.repositories import commit_files, git, make_repository


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
    with Worktrees() as worktrees, pytest.raises(EnvironmentSpecError, match="there is no commit"):
        worktrees.check_out(GitSource(revision, repository))


def test_a_folder_without_repository_is_told(tmp_path: Path) -> None:
    with Worktrees() as worktrees, pytest.raises(EnvironmentSpecError, match="is not in a git repository"):
        worktrees.check_out(GitSource("HEAD", tmp_path))


def test_a_bare_repository_has_revisions_and_no_working_tree(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    with Worktrees() as worktrees:
        checkout = worktrees.check_out(GitSource("HEAD~1", tmp_path / "bare.git"))
        assert (checkout.folder / "module.py").read_text() == "VALUE = 'one'\n"
        with pytest.raises(EnvironmentSpecError, match="no working tree"):
            worktrees.check_out(GitSource("WORKTREE", tmp_path / "bare.git"))
    with pytest.raises(EnvironmentSpecError, match="no working tree"):
        check_revisions([GitSource("WORKTREE", tmp_path / "bare.git")])


def test_a_shallow_clone_and_an_empty_repository_say_what_is_missing(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", "shallow")
    with pytest.raises(EnvironmentSpecError, match="clone is shallow"):
        resolve(tmp_path / "shallow", "HEAD~1")
    git(tmp_path, "init", "-q", "empty")
    with pytest.raises(EnvironmentSpecError, match="no commits yet"):
        resolve(tmp_path / "empty", "HEAD")


@pytest.fixture
def with_submodule(repository: Path, tmp_path: Path) -> Path:
    """A repository whose submodule has one content at HEAD~1, another at HEAD, and a third in the working tree."""
    inner = make_repository(tmp_path / "inner", {"inner.py": "1"})
    git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "deps/inner")
    commit_files(repository, {})
    commit_files(repository / "deps" / "inner", {"inner.py": "2"})
    commit_files(repository, {})
    (repository / "deps" / "inner" / "inner.py").write_text("3")
    (repository / "deps" / "inner" / "new.py").write_text("")
    return repository


@pytest.mark.parametrize("keep", ["0", "60"])
def test_submodules_have_the_files_of_their_revision(
    with_submodule: Path, keep: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHOTOMETER_KEEP", keep)
    monkeypatch.setenv("PHOTOMETER_CACHE", str(tmp_path / "cache"))
    with Worktrees() as worktrees:
        folders = [
            worktrees.check_out(GitSource(revision, with_submodule)).folder
            for revision in ("HEAD~1", "HEAD", "WORKTREE", "HEAD~2")
        ]
        inner = [folder / "deps" / "inner" for folder in folders]
        assert [(folder / "inner.py").read_text() for folder in inner[:3]] == ["1", "2", "3"]
        assert (inner[2] / "new.py").exists()
        assert not inner[3].exists()
    assert checked_out_submodules(with_submodule) == ("deps/inner",)


def test_a_submodule_that_is_not_checked_out_stays_empty(with_submodule: Path) -> None:
    git(with_submodule, "submodule", "deinit", "--force", "--quiet", "deps/inner")
    with Worktrees() as worktrees:
        for revision in ("HEAD", "WORKTREE"):
            folder = worktrees.check_out(GitSource(revision, with_submodule)).folder / "deps" / "inner"
            assert not folder.exists() or not list(folder.iterdir())


def test_submodules_of_submodules_are_found_once_they_are_checked_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kept revision must not stay without the files that were checked out after it was made."""
    monkeypatch.setenv("PHOTOMETER_KEEP", "60")
    monkeypatch.setenv("PHOTOMETER_CACHE", str(tmp_path / "cache"))
    allowing = ("-c", "protocol.file.allow=always")
    repositories = [make_repository(tmp_path / name, {f"{name}.py": "1"}) for name in ("outer", "middle", "inner")]
    for outer, inner in ((1, 2), (0, 1)):
        git(repositories[outer], *allowing, "submodule", "--quiet", "add", str(repositories[inner]), "deps")
        commit_files(repositories[outer], {})
    found = []
    for _ in range(2):
        with Worktrees() as worktrees:
            folder = worktrees.check_out(GitSource("HEAD", repositories[0])).folder
            found.append((folder / "deps" / "deps" / "inner.py").exists())
        git(repositories[0] / "deps", *allowing, "submodule", "--quiet", "update", "--init")
    assert found == [False, True]


def test_a_link_in_place_of_a_submodule_leads_nowhere(with_submodule: Path, tmp_path: Path) -> None:
    """It may lead to any other repository, whose files are not this commit's."""
    submodule = with_submodule / "deps" / "inner"
    submodule.rename(tmp_path / "elsewhere")
    submodule.symlink_to(tmp_path / "elsewhere")
    assert checked_out_submodules(with_submodule) == ()
    with Worktrees() as worktrees:
        folder = worktrees.check_out(GitSource("HEAD", with_submodule)).folder
        assert not list((folder / "deps" / "inner").iterdir())


def test_a_submodule_without_the_commit_says_how_to_get_it(with_submodule: Path) -> None:
    entry = f"160000,{'1' * 40},deps/inner"
    git(with_submodule, "update-index", "--cacheinfo", entry)
    git(with_submodule, "commit", "-qm", "a commit that nobody has")
    with Worktrees() as worktrees, pytest.raises(EnvironmentSpecError, match="deps/inner has no commit 1111111111"):
        worktrees.check_out(GitSource("HEAD", with_submodule))


def test_pointers_of_git_lfs_are_told(repository: Path) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4' * 64}\nsize 12345\n"
    commit_files(repository, {"a.bin": pointer, "b/c.bin": pointer, "d.bin": "short"})
    # As if git-lfs was not installed, where it is.
    for name in ("process", "smudge", "clean", "required"):
        git(repository, "config", f"filter.lfs.{name}", "false" if name == "required" else "")
    commit_files(repository, {".gitattributes": "*.bin filter=lfs\n"})
    said: list[str] = []
    with Worktrees() as worktrees, remarks_to(said.append):
        worktrees.check_out(GitSource("HEAD~1", repository))
        assert not said
        worktrees.check_out(GitSource("HEAD", repository))
    assert len(said) == 1
    assert said[0].startswith("a.bin and 1 more at HEAD are pointers of Git LFS")


def test_names_of_git_lfs_pointers_do_not_act_on_the_terminal(repository: Path) -> None:
    commit_files(
        repository, {".gitattributes": "*.bin filter=lfs\n", "\x1b[31m.bin": "version https://git-lfs.github.com/spec/"}
    )
    said: list[str] = []
    with Worktrees() as worktrees, remarks_to(said.append):
        worktrees.check_out(GitSource("HEAD", repository))
    assert said[0].startswith(r"\x1b[31m.bin at HEAD")


def test_a_cache_that_cannot_be_used_is_done_without(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PHOTOMETER_KEEP", "60")
    monkeypatch.setenv("PHOTOMETER_CACHE", str(tmp_path / "file"))
    said: list[str] = []
    with Worktrees() as worktrees, remarks_to(said.append):
        for revision in ("HEAD~1", "WORKTREE"):
            assert (worktrees.check_out(GitSource(revision, repository)).folder / "module.py").exists()
    assert len(said) == 1
    assert "revisions are not kept" in said[0]
