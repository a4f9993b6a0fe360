"""Control groups: how much memory and processor time a container, a cluster's job or a service may use.

In: /proc/self/cgroup and /sys/fs/cgroup, both versions. Out: the tightest limit of the groups that this process is in;
none if there is no limit. A group's limit holds for all groups in it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/")
# Version 1 writes "no limit" as the largest number of pages.
NO_LIMIT_BYTES = 1 << 60


@dataclasses.dataclass(frozen=True)
class MemoryLimit:
    """`free_bytes` includes files that the kernel keeps in memory only as long as nobody needs the room."""

    limit_bytes: int
    free_bytes: int


@dataclasses.dataclass(frozen=True)
class ProcessorLimit:
    """So many cores' worth of time per period, and how often the group was stopped because it had used it up."""

    cores: float
    times_stopped: int


def memory_limit(root: Path = ROOT) -> MemoryLimit | None:
    found = []
    for folder in _groups("memory", root):
        for names in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            limit, used = (_number(_read(folder / name)) for name in names[:2])
            if limit is not None and used is not None and limit < NO_LIMIT_BYTES:
                reclaimable = _field(folder / "memory.stat", names[2])
                found.append(MemoryLimit(limit, max(limit - max(used - reclaimable, 0), 0)))
    return min(found, key=lambda each: each.free_bytes, default=None)


def processor_limit(root: Path = ROOT) -> ProcessorLimit | None:
    found = []
    for folder in _groups("cpu", root):
        # "max 100000" is no limit; version 1 writes -1.
        words = _read(folder / "cpu.max").split() or [
            _read(folder / "cpu.cfs_quota_us"),
            _read(folder / "cpu.cfs_period_us"),
        ]
        quota, period = (_number(word) for word in words) if len(words) == 2 else (None, None)
        if quota and period:
            found.append(ProcessorLimit(quota / period, _field(folder / "cpu.stat", "nr_throttled")))
    return min(found, key=lambda each: each.cores, default=None)


def _groups(controller: str, root: Path) -> Iterator[Path]:
    """Yield the folders of this process's groups with a controller, of version 2 and 1, with all groups above."""
    mounted = root / "sys" / "fs" / "cgroup"
    # In a container they are usually at the top, whatever the host calls them.
    tops = {mounted: "/", mounted / controller: "/"}
    for line in _read(root / "proc" / "self" / "cgroup").splitlines():
        _, _, names_and_path = line.partition(":")
        names, _, path = names_and_path.partition(":")
        if not names:
            tops[mounted] = path
        elif controller in names.split(","):
            tops[mounted / controller] = path
    for top, path in tops.items():
        folder = top / path.lstrip("/")
        while folder != top and top in folder.parents:
            yield folder
            folder = folder.parent
        yield top


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _field(path: Path, name: str) -> int:
    """Return the number behind a name in a file of such lines; 0 without it."""
    words = (line.split() for line in _read(path).splitlines())
    return next((int(each[1]) for each in words if len(each) == 2 and each[0] == name and each[1].isdecimal()), 0)
