"""photometer's temporary folders: named after their owner's pid, so that a later process can remove leftovers.

A server removes its own folder when the near side dies; this handles the case that both were killed at once.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_NAME = re.compile(r"photometer-(\d+)-[\w-]+")


def make_folder(purpose: str = "") -> Path:
    """Create a private folder whose name has a fixed length; first remove leftovers of dead processes."""
    remove_left_behind()
    middle = f"{purpose}-" if purpose else ""
    return Path(tempfile.mkdtemp(prefix=f"photometer-{os.getpid():010d}-{middle}"))


@contextlib.contextmanager
def private_folder(purpose: str = "") -> Iterator[Path]:
    """Yield a private folder, which is removed when the block ends."""
    folder = make_folder(purpose)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_own() -> None:
    """Remove all folders that this process has created, before it is killed from outside."""
    for folder in Path(tempfile.gettempdir()).glob(f"photometer-{os.getpid():010d}-*"):
        shutil.rmtree(folder, ignore_errors=True)


@functools.lru_cache(maxsize=1)
def remove_left_behind() -> int:
    """Remove this user's folders whose owners are dead, once per process. Return how many."""
    removed = 0
    for folder in Path(tempfile.gettempdir()).glob("photometer-*"):
        match = _NAME.fullmatch(folder.name)
        # Another photometer may be removing the same folders at the same time.
        with contextlib.suppress(FileNotFoundError):
            if match is None or folder.is_symlink() or not folder.is_dir():
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
