"""Folders that code is loaded from: compiled snippets and scripted models. Only this user may write to them.

`cache_root` returns where they are; `make_code_folder` creates one, or refuses one in which another user may have
put files; `filling` says which one has no space left.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from photometer.errors import CacheError, PhotometerError
from photometer.model.results_folder import flock_or_warn

VARIABLE = "PHOTOMETER_CACHE"
# The superuser, who may replace anything anyway.
_ROOT = 0
_FULL = (errno.ENOSPC, errno.EDQUOT)
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def cache_root() -> Path:
    """Return `$PHOTOMETER_CACHE`, or `photometer` in the user's cache folder if it is not set."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    # The XDG specification says to ignore relative paths.
    root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return root / "photometer"


def make_code_folder(folder: Path, below: Path | None = None) -> Path:
    """Create the folder and those between it and `below`, each private to this user; refuse one that is not safe.

    Existing folders must belong to this user, and nobody else may write to them. `below` itself may be shared by all
    users, but then it must be sticky and its owner this user or root, so that others cannot replace our folders in it.
    """
    below = folder.parent if below is None else below
    _make(below)
    _check_shared(below)
    made = below
    for part in folder.relative_to(below).parts:
        made /= part
        _make(made)
        _check_own(made)
    return folder


@contextlib.contextmanager
def code_folder_locked(folder: Path) -> Iterator[bool]:
    """Hold the folder's lock while something is created in it. The kernel releases it if this process dies.

    Yield False, after a warning, if the file system has no locks.
    """
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield flock_or_warn(descriptor, folder)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def filling(folder: Path) -> Iterator[None]:
    """Raise CacheError if the disk is full when the block, or a program that it runs, writes to the folder."""
    try:
        yield
    except (OSError, PhotometerError) as error:
        is_full = isinstance(error, OSError) and error.errno in _FULL
        if isinstance(error, CacheError) or not (is_full or says_full(str(error))):
            raise
        raise CacheError(
            f"no space left for the cache folder {folder}",
            log=str(error),
            remedy="Free some space there (`photometer cache --clear` removes what photometer keeps), or set "
            f"{VARIABLE} to another folder. If only {tempfile.gettempdir()} is full, set TMPDIR.",
        ) from error


def says_full(text: str) -> bool:
    """Return whether a program's message is about a full disk."""
    return any(os.strerror(number) in text for number in _FULL)


def _make(folder: Path) -> None:
    try:
        if not folder.parent.exists():
            _make(folder.parent)
        # With `parents=True`, only the last folder would get the mode.
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise CacheError(
            f"the cache folder {folder} cannot be created: {error.strerror}",
            remedy=f"Set {VARIABLE} to another folder.",
        ) from error


def _check_own(folder: Path) -> None:
    status = folder.stat()
    if status.st_uid != os.geteuid():
        raise CacheError(
            f"the cache folder {folder} belongs to another user (uid {status.st_uid}); "
            "its files are loaded as code, so it is refused",
            remedy=f"Set {VARIABLE} to a folder of your own.",
        )
    if status.st_mode & _OTHERS_MAY_WRITE:
        raise CacheError(
            f"others may write to the cache folder {folder}; its files are loaded as code, so it is refused",
            remedy=f"Make it private: chmod 700 {folder}",
        )


def _check_shared(folder: Path) -> None:
    status = folder.stat()
    if status.st_uid not in (os.geteuid(), _ROOT):
        # Its owner may replace what is in it at any time, sticky or not.
        raise CacheError(
            f"{folder} belongs to another user (uid {status.st_uid}); "
            "code is loaded from folders in it, so it is refused",
            remedy=f"Set {VARIABLE} to a folder of your own.",
        )
    mode = status.st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise CacheError(
            f"all users may replace what is in {folder}; code is loaded from folders in it, so it is refused",
            remedy=f"Make it private (chmod 700 {folder}) or sticky (chmod +t {folder}), or set {VARIABLE} to another.",
        )
