"""photometer's temporary folders: named after their owner's pid, so that a later process can remove leftovers.

In a container, pids mean other processes than outside; if both share a folder for temporary files, neither may take the
other's folders for leftovers. So the names in a container have a mark of its PID namespace.

A server removes its own folder when the near side dies; this handles the case that both were killed at once.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

# On a busy machine, processes of Ray write for a second after they were ended.
REMOVING_SECONDS = 10.0
_NAME = re.compile(r"photometer-(\d+)-(n[0-9a-f]{4}-)?[\w-]+")
# The inode of the machine's own PID namespace (PROC_PID_INIT_INO of the kernel).
MACHINES_NAMESPACE = 0xEFFFFFFC


def make_folder(purpose: str = "") -> Path:
    """Create a private folder whose name has a fixed length; first remove leftovers of dead processes."""
    remove_left_behind()
    middle = f"{purpose}-" if purpose else ""
    return Path(tempfile.mkdtemp(prefix=f"{_prefix()}{middle}"))


def _prefix() -> str:
    return f"photometer-{os.getpid():010d}-{namespace_mark()}"


@functools.cache
def namespace_mark() -> str:
    """Return what marks the names in this PID namespace; nothing on the machine itself."""
    if sys.platform != "linux":
        return ""
    try:
        inode = os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116
    except OSError:
        # Without /proc nobody knows.
        inode = 0
    return "" if inode == MACHINES_NAMESPACE else f"n{inode & 0xFFFF:04x}-"


@contextlib.contextmanager
def private_folder(purpose: str = "") -> Iterator[Path]:
    """Yield a private folder, which is removed when the block ends."""
    folder = make_folder(purpose)
    try:
        yield folder
    finally:
        _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a folder, also if a process that is just ending, such as one of Ray's, still puts files there."""
    give_up = time.monotonic() + REMOVING_SECONDS
    shutil.rmtree(folder, ignore_errors=True)
    while folder.exists() and time.monotonic() < give_up:
        time.sleep(0.1)
        shutil.rmtree(folder, ignore_errors=True)


def remove_own() -> None:
    """Remove all folders that this process has created, before it is killed from outside."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_prefix()}*"):
        match = _NAME.fullmatch(folder.name)
        if match is not None and (match.group(2) or "") == namespace_mark():
            shutil.rmtree(folder, ignore_errors=True)


@functools.lru_cache(maxsize=1)
def remove_left_behind() -> int:
    """Remove this user's folders whose owners are dead, once per process. Return how many."""
    removed = 0
    for folder in Path(tempfile.gettempdir()).glob("photometer-*"):
        match = _NAME.fullmatch(folder.name)
        # Another photometer may be removing the same folders at the same time.
        with contextlib.suppress(FileNotFoundError):
            if match is None or (match.group(2) or "") != namespace_mark():
                continue
            if folder.is_symlink() or not folder.is_dir():
                continue
            if folder.stat().st_uid == os.getuid() and not _is_alive(int(match.group(1))):
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
    return removed


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
