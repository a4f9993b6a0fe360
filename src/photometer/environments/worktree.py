"""Worktrees: revisions of a user's repository, each in a folder of its own; the user's working tree is only read.

In: a GitSource. Out: a Checkout. All folders lie in one private temporary folder, have names of one length (the length
of a path shifts the addresses of later memory), and are removed at the end of the block, also after Ctrl-C. Worktrees
that a killed photometer left registered with git are removed by the next one. If servers stay warm, the next command
must find the files that they have imported: revisions are then kept in the cache, each in a folder named by its
content, which is exported without being registered with git. Folders of submodules, which git leaves empty, are filled
from those that the user has checked out: nothing is fetched.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from photometer.environments.kept import KeptEnvironments, key_of
from photometer.environments.spec import MERGE_BASE, WORKTREE, GitSource
from photometer.errors import CacheError, EnvironmentSpecError, PhotometerError
from photometer.git import find_commit, git_text, top_of_repository
from photometer.model.code_folder import cache_root
from photometer.model.visible_text import visible_line
from photometer.session.left_behind import make_folder, private_folder
from photometer.session.remarks import remark
from photometer.session.warm import keep_seconds

# Compiled extensions lie ignored in a developer's tree, and the tree does not run without them.
EXTENSION_SUFFIXES = (".so", ".pyd", ".dylib")
# Of revisions that servers which stay warm have imported.
MOST_KEPT_BYTES = 4 * 1024**3
# The branch of a pull request, as GitHub and GitLab name it: what they check out is a commit without a branch.
SOURCE_VARIABLES = ("GITHUB_HEAD_REF", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME")
_PREFIX = "photometer-"
# What a pointer of Git LFS begins with, and how large the specification lets it be.
_POINTER = b"version https://git-lfs.github.com/spec/"
LARGEST_POINTER_BYTES = 1024
NO_FILES = (
    "Check it out yourself to see why. If Git LFS could not fetch a file that no benchmark reads: "
    "set GIT_LFS_SKIP_SMUDGE=1."
)


_Made = TypeVar("_Made")


@dataclasses.dataclass(frozen=True)
class Checkout:
    """A folder with the files of a revision.

    `commit` is its full name; `is_changed` says whether the tree differs from it. `tree_digest` identifies one state of
    a working tree; a commit needs none. `branch` is the one that is checked out in a working tree, if there is one.
    """

    folder: Path
    commit: str
    is_changed: bool = False
    tree_digest: str | None = None
    branch: str = ""

    @property
    def import_paths(self) -> tuple[str, ...]:
        """Return the folders for the start of the path: src/ if the packages are there, then the folder itself."""
        source = self.folder / "src"
        return (str(source), str(self.folder)) if has_modules(source) else (str(self.folder),)

    @property
    def name(self) -> str:
        return self.commit[:10] + (" with changes" if self.is_changed else "")


class Worktrees:
    """Use as a context manager. `purpose` distinguishes kept folders of one revision, if something is added to it."""

    def __init__(self, purpose: str = "") -> None:
        self.purpose = purpose
        self.folder = make_folder()
        self._added: list[tuple[Path, Path]] = []
        self._count = 0
        self._changes = threading.RLock()
        self._held = contextlib.ExitStack()

    def hold(self, made: AbstractContextManager[_Made]) -> _Made:
        """Enter the context of something that a side needs; it is left when this block ends."""
        value = made.__enter__()
        with self._changes:
            self._held.push(made.__exit__)
        return value

    def commit_of(self, source: GitSource) -> str:
        """Return the full name of the commit that a revision names."""
        return resolve(top_of(source), source.revision)

    def check_out(self, source: GitSource, *, may_be_kept: bool = True) -> Checkout:
        """Return the files of the revision; for WORKTREE a copy, so that the user may go on editing meanwhile.

        They are kept for the next command if servers are; nobody may change such a folder.
        """
        # One at a time: sides are made in parallel, and git does not add two worktrees to one repository at once.
        with self._changes:
            checkout = self._check_out(source, is_kept=may_be_kept and keep_seconds() > 0)
        if pointers := lfs_pointers(checkout.folder):
            more = f" and {len(pointers) - 1} more" if len(pointers) > 1 else ""
            remark(
                f"{visible_line(pointers[0])}{more} at {source.revision} are pointers of Git LFS, not the files: "
                "install git-lfs and `git lfs pull` if benchmarks read them"
            )
        return checkout

    def _check_out(self, source: GitSource, *, is_kept: bool) -> Checkout:
        top = top_of(source)
        _forget_left_behind(top)
        if source.revision == WORKTREE:
            return self._copy(top, is_kept=is_kept)
        commit = resolve(top, source.revision)
        if is_kept:
            key = key_of("checkout", str(top), commit, self.purpose, *all_checked_out_submodules(top))
            make = functools.partial(_export, top, commit)
            if (kept := self._keep(key, f"{top.name} {commit[:10]}", make)) is not None:
                return Checkout(kept, commit)
        folder = self.new_folder()
        self._added.append((top, folder))
        failed = f"the files of {source.revision} could not be checked out"
        git_text(top, "worktree", "add", "--quiet", "--detach", str(folder), commit, failed=failed, remedy=NO_FILES)
        fill_submodules(top, commit, folder)
        return Checkout(folder, commit)

    def _keep(self, key: str, title: str, make: Callable[[Path], None]) -> Path | None:
        """Return the folder in the cache; None if the cache cannot be used: a folder that is not kept does as well."""
        try:
            return self.hold(kept_checkouts().use(key, title, make))
        except (CacheError, EnvironmentSpecError, OSError) as error:
            # git's own failure, on a full disk for example, comes again if it was not the cache's fault.
            reason = error.message if isinstance(error, PhotometerError) else str(error)
            remark(f"revisions are not kept for the next command: {reason}")
            return None

    def new_folder(self) -> Path:
        """Return the name of a folder that does not exist yet; all have the same length."""
        self._count += 1
        return self.folder / f"side-{self._count:02d}"

    def close(self) -> None:
        for repository, folder in self._added:
            # The folder goes below in any case; this is for git's own list of worktrees.
            with contextlib.suppress(EnvironmentSpecError):
                git_text(repository, "worktree", "remove", "--force", "--force", str(folder))
        self._added.clear()
        self._held.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _copy(self, top: Path, *, is_kept: bool) -> Checkout:
        _needs_working_tree(top)
        commit = resolve(top, "HEAD")
        changed, branch = bool(git_text(top, "status", "--porcelain")), branch_of(top, os.environ)
        files = _files_of(top)
        if is_kept:
            digest = _digest(top, files)
            key = key_of("working tree", str(top), commit, digest, self.purpose)
            with contextlib.suppress(_ChangedMeanwhile):
                make = functools.partial(_copy_same, top, files, digest)
                if (kept := self._keep(key, f"{top.name} working tree", make)) is not None:
                    return Checkout(kept, commit, changed, digest, branch)
        folder = self.new_folder()
        _copy_files(top, files, folder)
        return Checkout(folder, commit, changed, _digest(folder, files), branch)

    def __enter__(self) -> Worktrees:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _ChangedMeanwhile(Exception):
    """A file of the working tree was changed while it was copied."""


def kept_checkouts() -> KeptEnvironments:
    """Return the revisions that are kept for servers that stay warm."""
    return KeptEnvironments(cache_root() / "checkouts", most_bytes=MOST_KEPT_BYTES)


def _export(repository: Path, commit: str, folder: Path) -> None:
    export_files(repository, commit, folder)
    fill_submodules(repository, commit, folder)


def _files_of(top: Path) -> list[str]:
    """Return the names of the files in a working tree that belong to it, and of those in its submodules."""
    listed = git_text(top, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    ignored = git_text(top, "ls-files", "-z", "--others", "--ignored", "--exclude-standard")
    names = {name for name in listed.split("\0") if name}
    names |= {name for name in ignored.split("\0") if name.endswith(EXTENSION_SUFFIXES)}
    # A file deleted and not yet staged is still listed.
    files = [name for name in names if (top / name).is_symlink() or (top / name).is_file()]
    for submodule in checked_out_submodules(top):
        files += [f"{submodule}/{name}" for name in _files_of(top / submodule)]
    return sorted(files)


def lfs_pointers(folder: Path) -> list[str]:
    """Return the files that are pointers of Git LFS, if the folder's own .gitattributes names any that it keeps."""
    attributes = folder / ".gitattributes"
    if not attributes.is_file() or b"filter=lfs" not in attributes.read_bytes():
        return []
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if _is_lfs_pointer(file))


def _is_lfs_pointer(file: Path) -> bool:
    if file.is_symlink() or not file.is_file() or file.stat().st_size > LARGEST_POINTER_BYTES:
        return False
    with file.open("rb") as opened:
        return opened.read(len(_POINTER)) == _POINTER


def _copy_same(top: Path, files: Sequence[str], digest: str, folder: Path) -> None:
    folder.mkdir(mode=0o700)
    _copy_files(top, files, folder)
    if _digest(folder, files) != digest:
        raise _ChangedMeanwhile


def _copy_files(top: Path, files: Sequence[str], folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name in files:
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(top / name, copy, follow_symlinks=False)


def _digest(folder: Path, files: Sequence[str]) -> str:
    """Return a digest of the names and contents of files."""
    digest = hashlib.sha256()
    for name in files:
        file = folder / name
        content = os.fsencode(file.readlink()) if file.is_symlink() else file.read_bytes()
        digest.update(os.fsencode(name) + b"\0" + hashlib.sha256(content).digest())
    return digest.hexdigest()[:16]


def top_of(source: GitSource) -> Path:
    """Return the top folder of a source's repository."""
    return top_of_repository(source.repository)


def branch_of(repository: Path, variables: Mapping[str, str]) -> str:
    """Return the branch that is checked out; in CI, that of the pull request; empty if there is none."""
    pull_request = next((variables[name] for name in SOURCE_VARIABLES if variables.get(name)), "")
    return git_text(repository, "branch", "--show-current") or pull_request


def project_of(source: GitSource) -> str:
    """Return the name of the repository: its folder's name, also for a linked worktree."""
    top = top_of(source)
    common = (top / git_text(top, "rev-parse", "--git-common-dir")).resolve()
    return common.parent.name if common.name == ".git" else top.name


def _needs_working_tree(top: Path) -> None:
    if git_text(top, "rev-parse", "--is-bare-repository") == "true":
        raise EnvironmentSpecError(f"{top} is a bare repository: it has no working tree", remedy="Name a revision.")


def check_revisions(sources: Iterable[GitSource | None]) -> None:
    """Raise EnvironmentSpecError if a revision does not exist, before anything is checked out or installed."""
    for source in sources:
        if source is None:
            continue
        top = top_of(source)
        if source.revision == WORKTREE:
            _needs_working_tree(top)
        resolve(top, "HEAD" if source.revision == WORKTREE else source.revision)


def has_modules(folder: Path) -> bool:
    """Whether the folder has anything to import."""
    if not folder.is_dir():
        return False
    return any(
        entry.suffix == ".py" or (entry.is_dir() and any(entry.glob("*.py"))) for entry in sorted(folder.iterdir())
    )


def resolve(repository: Path, revision: str) -> str:
    """Return the full name of the commit that a revision names; `merge-base:BRANCH` is where HEAD left BRANCH."""
    if revision.startswith(MERGE_BASE):
        branch = resolve(repository, revision.removeprefix(MERGE_BASE))
        return git_text(repository, "merge-base", "HEAD", branch)
    return find_commit(repository, revision)


def _forget_left_behind(repository: Path) -> None:
    """Remove worktrees of ours whose folder is gone from git's list; the user's own are left alone."""
    temporary = Path(tempfile.gettempdir()).resolve()
    for line in git_text(repository, "worktree", "list", "--porcelain").splitlines():
        folder = Path(line.removeprefix("worktree "))
        ours = folder.parent.name.startswith(_PREFIX) and folder.parent.parent.resolve() == temporary
        if line.startswith("worktree ") and ours and not folder.exists():
            git_text(repository, "worktree", "remove", "--force", "--force", str(folder))


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
                remedy=f"Fetch it: git -C {own} fetch",
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
