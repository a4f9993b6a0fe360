"""Folders that a killed photometer left in the temporary folder: found by their owner's pid, removed when it is gone.

A server removes its own folder when the near side dies; this is for the case that both were killed at once.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import tempfile
from pathlib import Path

_NAME = re.compile(r"photometer-(\d+)-\w+")


@functools.lru_cache(maxsize=1)
def remove_left_behind() -> int:
    """Remove folders of dead owners that belong to this user; once a process. Returns how many."""
    removed = 0
    for folder in Path(tempfile.gettempdir()).glob("photometer-*"):
        match = _NAME.fullmatch(folder.name)
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
