"""The command as a user types it: in a process of its own, or in this one where only its exit status matters."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from photometer.cli import main

COMMAND = (sys.executable, "-m", "photometer")


def photometer(*words: object, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command without a terminal; `variables` are added to those of this process."""
    return subprocess.run(
        [*COMMAND, *map(str, words)],
        cwd=cwd,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def status_of(*words: object) -> int:
    """Run the command in this process, and return its exit status. What it prints can be captured."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    code = ended.value.code
    assert code is None or isinstance(code, int), code
    return code or 0
