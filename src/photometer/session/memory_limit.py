"""The memory a benchmark may have, so that one that asks for too much fails by itself and not with the machine.

The limit is set on an environment's server from outside; its children inherit it. It counts what a process may write
to (RLIMIT_DATA): not mapped libraries, nor the address space that CUDA and Valgrind reserve without using it.
"""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path

# The rest is for the servers themselves, the compiler, and whatever else the machine does.
SHARE_OF_FREE_MEMORY = 0.8


def memory_limit_bytes(processes: int = 1) -> int | None:
    """What each of so many benchmarks running at once may take, or None where the free memory is not known."""
    known = [free for free in (_available_bytes(), _free_in_container_bytes()) if free is not None]
    return int(min(known) * SHARE_OF_FREE_MEMORY / processes) if known else None


def limit_memory(pid: int, limit_bytes: int | None) -> None:
    """From now on this process and the children it forks get no more."""
    if limit_bytes is None or sys.platform != "linux":
        return
    import resource

    # A container may forbid it (PermissionError); the server may just have died, which whoever uses it next will say.
    with contextlib.suppress(PermissionError, ProcessLookupError):
        resource.prlimit(pid, resource.RLIMIT_DATA, (limit_bytes, limit_bytes))


def _available_bytes() -> int | None:
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        return None
    found = re.search(r"^MemAvailable:\s*(\d+) kB", text, re.MULTILINE)
    return int(found.group(1)) * 1024 if found else None


def _free_in_container_bytes(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    try:
        most, used = (int((folder / name).read_text()) for name in ("memory.max", "memory.current"))
    except (OSError, ValueError):  # no such control group, or no limit ("max")
        return None
    return max(most - used, 0)
