"""Cores: which exist, which are free, which is the quietest, and how to pin a process to some of them.

Only one hardware thread per core is used, because two slow each other down.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from photometer.errors import DefinitionError
from photometer.session.control_group import processor_limit

TOPOLOGY = Path("/sys/devices/system/cpu")


class CorePool:
    """Free and used cores. Not thread-safe: only the scheduler uses it."""

    def __init__(self, cores: Sequence[int]) -> None:
        self.cores = tuple(cores)
        self._free = set(self.cores)

    def take(self, count: int, *, from_top: bool = False) -> tuple[int, ...] | None:
        """Return `count` adjacent cores, the lowest (or highest) free ones; None if there are not enough."""
        starts = range(len(self.cores) - count + 1)
        for start in reversed(starts) if from_top else starts:
            wanted = self.cores[start : start + count]
            if self._free.issuperset(wanted):
                self._free.difference_update(wanted)
                return wanted
        return None

    def give_back(self, cores: Sequence[int]) -> None:
        self._free.update(cores)

    def __len__(self) -> int:
        return len(self.cores)


def allowed_cores() -> list[int]:
    """Return the logical processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def usable_cores(asked: Sequence[int] = (), topology: Path = TOPOLOGY) -> tuple[int, ...]:
    """Return the cores to use: the requested ones, or one logical processor per core that this process may run on.

    Not more than it has time for: a control group that uses up its time is stopped, whatever it measures.
    """
    allowed = allowed_cores()
    if asked:
        forbidden = [core for core in asked if core not in allowed]
        if forbidden:
            raise DefinitionError(
                f"this process may not run on processor {forbidden[0]}",
                remedy=f"Choose from {', '.join(map(str, allowed))}.",
            )
        return tuple(sorted(set(asked)))
    first_of_core: dict[str, int] = {}
    for processor in allowed:
        first_of_core.setdefault(_siblings(processor, topology), processor)
    limit = processor_limit()
    most = len(first_of_core) if limit is None else max(int(limit.cores), 1)
    return tuple(sorted(first_of_core.values())[:most])


def share_no_core(processors: Sequence[int], topology: Path = TOPOLOGY) -> bool:
    """Return whether no two processors are hardware threads of one core."""
    return len({_siblings(processor, topology) for processor in processors}) == len(processors)


def _siblings(processor: int, topology: Path) -> str:
    """Return the list of hardware threads of this processor's core, as text; the processor alone if unknown."""
    try:
        return (topology / f"cpu{processor}" / "topology" / "thread_siblings_list").read_text().strip()
    except OSError:
        return str(processor)


def parse_cores(text: str) -> tuple[int, ...]:
    """Parse a list of cores such as `0,2-5`, as taskset takes it."""
    cores: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise DefinitionError(f"{text!r} is not a list of cores", remedy="Write it as 0,2-5.")
        cores += range(int(match[1]), int(match[2] or match[1]) + 1)
    return tuple(sorted(set(cores)))


def pin(pid: int, cores: Sequence[int]) -> None:
    """Pin a process (0: this thread) to these cores; do nothing if none are given."""
    if cores and hasattr(os, "sched_setaffinity"):
        # A server that has just died is noticed when a child is requested; a container may refuse the call.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.sched_setaffinity(pid, cores)


@contextlib.contextmanager
def on_cores(cores: Sequence[int]) -> Iterator[None]:
    """Pin this thread, and processes that it starts, to these cores during the block."""
    if not cores or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    pin(0, cores)
    try:
        yield
    finally:
        pin(0, sorted(before))


def quietest_core(look_seconds: float = 0.05) -> int | None:
    """Return the usable core that was idle most during a short observation; None if unknown."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    before = _busy_ticks()
    time.sleep(look_seconds)
    after = _busy_ticks()
    allowed = sorted(os.sched_getaffinity(0))
    # The last one among equals: the first core serves most interrupts.
    return min(reversed(allowed), key=lambda core: after.get(core, 0) - before.get(core, 0))


def neighbours(core: int | None, count: int) -> tuple[int, ...]:
    """Return `count` usable cores: the given one and those after it; none if cores cannot be chosen."""
    if not hasattr(os, "sched_getaffinity"):
        return ()
    allowed = sorted(os.sched_getaffinity(0))
    start = allowed.index(core) if core in allowed else 0
    return tuple(sorted((allowed[start:] + allowed[:start])[:count]))


def _busy_ticks() -> dict[int, int]:
    """Return the ticks that each core was busy, from /proc/stat; nothing if it cannot be read."""
    busy = {}
    with contextlib.suppress(OSError), open("/proc/stat") as lines:  # noqa: PTH123
        for line in lines:
            name, *fields = line.split()
            if name.startswith("cpu") and name != "cpu":
                ticks = [int(field) for field in fields]
                busy[int(name[3:])] = sum(ticks[:3]) + sum(ticks[5:8])
    return busy
