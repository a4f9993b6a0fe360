"""Waiting for what another process or thread does: until it is so, or so long that only a hang can be the reason."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

# What takes a second on a quiet machine has taken more than a minute on one with ten programs for each core.
PATIENCE_SECONDS = 600.0


def wait_until(is_so: Callable[[], object], found: Callable[[], object] = str) -> None:
    """Return once it is so; fail if it never is, and show what `found` returns then."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, f"not so within {PATIENCE_SECONDS:g} s: {found()}"
        time.sleep(0.02)


def wait_until_gone(pids: Iterable[int]) -> None:
    """Return once all of these processes have ended; fail if one of them stays."""
    left = set(pids)
    wait_until(lambda: not any(map(is_running, left)), found=lambda: set(filter(is_running, left)))


@contextlib.contextmanager
def killed_at_last(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """Kill a command at the end of the block if it still runs: a test that fails leaves nothing behind."""
    with process:
        try:
            yield process
        finally:
            process.kill()


def is_running(pid: int) -> bool:
    """Return whether a process is there; one that has ended and whose parent has not looked yet is not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
