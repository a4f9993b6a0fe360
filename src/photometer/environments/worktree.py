"""Worktrees: revisions of a user's repository, each in a folder of its own; the user's working tree is only read.

In: a GitSource. Out: a Checkout. All folders lie in one private temporary folder, have names of one length (the length
of a path shifts what lies in memory after it), and are gone when the block ends, also after Ctrl-C. What a killed
photometer left registered with git is removed by the next one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import shutil
import subprocess
import tempfile
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from photometer.environments.spec import MERGE_BASE, WORKTREE, GitSource
from photometer.errors import EnvironmentSpecError
from photometer.session.left_behind import make_folder

# Checking out a large repository from a slow disk takes minutes; git that asks for a password would wait for ever.
GIT_SECONDS = 600.0
# Compiled extensions lie ignored in a developer's tree, and the tree does not run without them.
EXTENSION_SUFFIXES = (".so", ".pyd", ".dylib")
_PREFIX = "photometer-"

_Made = TypeVar("_Made")


@dataclasses.dataclass(frozen=True)
class Checkout:
    """A folder with the files of a revision. `commit` is its full name; `is_changed` where the tree differs from it.

    `tree_digest` tells one state of a working tree from another; a commit needs none.
    """

    folder: Path
    commit: str
    is_changed: bool = False
    tree_digest: str | None = None

    @property
    def import_paths(self) -> tuple[str, ...]:
        """What goes first on the path: src/ where the packages lie there, then the folder itself."""
        source = self.folder / "src"
        return (str(source), str(self.folder)) if has_modules(source) else (str(self.folder),)

    @property
    def name(self) -> str:
        return self.commit[:10] + (" with changes" if self.is_changed else "")


class Worktrees:
    """Use as a context manager."""

    def __init__(self) -> None:
        self.folder = make_folder()
        self._added: list[tuple[Path, Path]] = []
        self._count = 0
        self._changes = threading.RLock()
        self._held = contextlib.ExitStack()

    def hold(self, made: AbstractContextManager[_Made]) -> _Made:
        """Enter what a side needs and is kept elsewhere; it is left when this block ends."""
        value = made.__enter__()
        with self._changes:
            self._held.push(made.__exit__)
        return value

    def commit_of(self, source: GitSource) -> str:
        """Return the full name of the commit that a revision names."""
        return resolve(top_of(source), source.revision)

    def check_out(self, source: GitSource) -> Checkout:
        """Return the files of the revision; of WORKTREE a copy, so that the user may go on editing meanwhile."""
        # One at a time: sides are made in parallel, and git does not add two worktrees to one repository at once.
        with self._changes:
            return self._check_out(source)

    def _check_out(self, source: GitSource) -> Checkout:
        top = top_of(source)
        _forget_left_behind(top)
        if source.revision == WORKTREE:
            return self._copy(top)
        commit = resolve(top, source.revision)
        folder = self.new_folder()
        self._added.append((top, folder))
        # No hooks: a post-checkout hook is the user's own business, in the user's own tree.
        _git(top, "-c", "core.hooksPath=/dev/null", "worktree", "add", "--quiet", "--detach", str(folder), commit)
        return Checkout(folder, commit)

    def new_folder(self) -> Path:
        """Return the name of a folder that is not there yet; all have the same length."""
        self._count += 1
        return self.folder / f"side-{self._count:02d}"

    def close(self) -> None:
        for repository, folder in self._added:
            # The folder goes below in any case; this is for git's own list of worktrees.
            with contextlib.suppress(EnvironmentSpecError):
                _git(repository, "worktree", "remove", "--force", "--force", str(folder))
        self._added.clear()
        self._held.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _copy(self, top: Path) -> Checkout:
        commit = resolve(top, "HEAD")
        changed = bool(_git(top, "status", "--porcelain"))
        listed = _git(top, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        ignored = _git(top, "ls-files", "-z", "--others", "--ignored", "--exclude-standard")
        names = {name for name in listed.split("\0") if name}
        names |= {name for name in ignored.split("\0") if name.endswith(EXTENSION_SUFFIXES)}
        folder = self.new_folder()
        folder.mkdir()
        digest = hashlib.sha256()
        for name in sorted(names):
            file, copy = top / name, folder / name
            # A file deleted and not yet staged is still listed; a submodule is listed as a folder.
            if file.is_symlink() or file.is_file():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, copy, follow_symlinks=False)
                content = os.fsencode(copy.readlink()) if copy.is_symlink() else copy.read_bytes()
                digest.update(os.fsencode(name) + b"\0" + hashlib.sha256(content).digest())
        return Checkout(folder, commit, changed, digest.hexdigest()[:16])

    def __enter__(self) -> Worktrees:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def top_of(source: GitSource) -> Path:
    """Return the top folder of the repository that a source is of."""
    return Path(_git(source.repository, "rev-parse", "--show-toplevel"))


def has_modules(folder: Path) -> bool:
    """Whether there is anything to import in it."""
    if not folder.is_dir():
        return False
    return any(
        entry.suffix == ".py" or (entry.is_dir() and any(entry.glob("*.py"))) for entry in sorted(folder.iterdir())
    )


def resolve(repository: Path, revision: str) -> str:
    """Return the full name of the commit that a revision names; `merge-base:BRANCH` is where HEAD left BRANCH."""
    if revision.startswith(MERGE_BASE):
        branch = resolve(repository, revision.removeprefix(MERGE_BASE))
        return _git(repository, "merge-base", "HEAD", branch)
    return _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}")


def _forget_left_behind(repository: Path) -> None:
    """Take worktrees of ours whose folder is gone off git's list; the user's own are left alone."""
    temporary = Path(tempfile.gettempdir()).resolve()
    for line in _git(repository, "worktree", "list", "--porcelain").splitlines():
        folder = Path(line.removeprefix("worktree "))
        ours = folder.parent.name.startswith(_PREFIX) and folder.parent.parent.resolve() == temporary
        if line.startswith("worktree ") and ours and not folder.exists():
            _git(repository, "worktree", "remove", "--force", "--force", str(folder))


def _git(folder: Path, *arguments: str) -> str:
    # No optional locks: looking at a repository must not write into it.
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            stdin=subprocess.DEVNULL,
            timeout=GIT_SECONDS,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
            check=False,
        )
    except FileNotFoundError as error:
        raise EnvironmentSpecError("git is not installed", remedy="Install git, or name an interpreter.") from error
    except subprocess.TimeoutExpired as error:
        raise EnvironmentSpecError(
            f"git did not finish within {GIT_SECONDS:g} s", command=command, remedy="Check out the revision yourself."
        ) from error
    if done.returncode != 0:
        raise EnvironmentSpecError(
            f"git found nothing for {arguments[-1]!r} in {folder}",
            command=command,
            exit_status=done.returncode,
            log=done.stderr,
            remedy="Name a revision of a git repository: git:REV, or git:REV@PATH for one elsewhere.",
        )
    # -z output ends in NUL and keeps its spaces; lines lose their end.
    return done.stdout.removesuffix("\n")
