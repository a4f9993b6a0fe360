"""Submodules: fill their folders in a checkout, from the submodules that the user has checked out.

In: a repository, one of its commits, and a folder with the files of that commit. git leaves the folders of submodules
empty there. Nothing is fetched: a submodule that is not checked out in the user's tree stays empty, as it is there.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from photometer.errors import EnvironmentSpecError
from photometer.git import git_text
from photometer.session.left_behind import private_folder

# The mode of an entry that is a submodule: git names its commit where a file would have its content.
_MODE = "160000"


def export_files(repository: Path, commit: str, folder: Path) -> None:
    """Write the files of a commit, through an index of their own: git keeps no record of it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    with private_folder("index") as place:
        own_index = {"GIT_INDEX_FILE": str(place / "index")}
        git_text(repository, "read-tree", commit, variables=own_index)
        git_text(repository, "checkout-index", "--all", f"--prefix={folder}/", variables=own_index)


def fill_submodules(repository: Path, commit: str, folder: Path) -> None:
    """Write the files of the commit's submodules, and of theirs. Raise EnvironmentSpecError if a commit is missing."""
    for name, wanted in _submodules(repository, commit, folder):
        own = repository / name
        if not is_checked_out(repository, name):
            continue
        if not _has_commit(own, wanted):
            raise EnvironmentSpecError(
                f"the submodule {name} has no commit {wanted[:10]}, which {commit[:10]} needs",
                remedy=f"Get it: git -C {own} fetch",
            )
        export_files(own, wanted, folder / name)
        fill_submodules(own, wanted, folder / name)


def empty_submodules(repository: Path, commit: str, folder: Path) -> None:
    """Remove the files of the commit's submodules, before the folder gets those of another commit."""
    for name, _ in _submodules(repository, commit, folder):
        shutil.rmtree(folder / name)


def checked_out_submodules(repository: Path) -> tuple[str, ...]:
    """Return the names of the submodules that the user has checked out, without those inside of them."""
    if not (repository / ".gitmodules").exists():
        return ()
    listed = git_text(repository, "ls-files", "-z", "--stage")
    entries = [entry.partition("\t") for entry in listed.split("\0")]
    return tuple(name for about, _, name in entries if about.startswith(_MODE) and is_checked_out(repository, name))


def all_checked_out_submodules(repository: Path) -> tuple[str, ...]:
    """Return the names of the submodules that the user has checked out, at any depth."""
    found: list[str] = []
    for name in checked_out_submodules(repository):
        found += [name, *(f"{name}/{inner}" for inner in all_checked_out_submodules(repository / name))]
    return tuple(found)


def is_checked_out(repository: Path, name: str) -> bool:
    # A link may lead to any other repository.
    return (repository / name).resolve() == repository.resolve() / name and (repository / name / ".git").exists()


def _submodules(repository: Path, commit: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and commit of each submodule that has a folder in this checkout."""
    if not (folder / ".gitmodules").exists():
        return
    for entry in git_text(repository, "ls-tree", "-r", "-z", commit).split("\0"):
        about, _, name = entry.partition("\t")
        # A link in its place may lead out of the checkout.
        if (
            about.startswith(_MODE)
            and (folder / name).is_dir()
            and (folder / name).resolve() == folder.resolve() / name
        ):
            yield name, about.split()[2]


def _has_commit(repository: Path, commit: str) -> bool:
    try:
        git_text(repository, "cat-file", "-e", commit + "^{commit}")
    except EnvironmentSpecError:
        return False
    return True
