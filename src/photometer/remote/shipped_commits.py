"""Send commits to nodes: the files of some commits as one git pack, without their history.

In: a repository and commits. Out: bytes; and, on a node, a repository with only these commits, from which they are
checked out as from the user's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from photometer.git import run_git


def pack_commits(repository: Path, commits: Sequence[str]) -> bytes:
    """Return a pack of the commits with all their files; files in common are in it once."""
    wanted = "".join(f"{commit}\n" for commit in commits).encode()
    listed = _git(repository, "rev-list", "--objects", "--no-walk=unsorted", "--stdin", given=wanted)
    # A line is the name of an object, followed by its path.
    names = b"".join(line.split(b" ", 1)[0] + b"\n" for line in listed.splitlines())
    return _git(repository, "pack-objects", "--stdout", "-q", given=names)


def unpack_commits(pack: bytes, commits: Sequence[str], folder: Path) -> Path:
    """Create a repository from a pack in a new folder, and return it."""
    folder.mkdir(mode=0o700, parents=True)
    _git(folder, "init", "--quiet")
    _git(folder, "index-pack", "--stdin", given=pack)
    # Their parents are missing: mark the repository as shallow.
    (folder / ".git" / "shallow").write_text("".join(f"{commit}\n" for commit in commits), encoding="ascii")
    return folder


def _git(folder: Path, *arguments: str, given: bytes = b"") -> bytes:
    remedy = "Check that the repository has all of their files (`git fsck`)."
    return run_git(folder, *arguments, given=given, failed="the commits could not be sent to a node", remedy=remedy)
