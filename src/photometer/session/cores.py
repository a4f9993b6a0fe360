"""CorePool: which cores are free. Work takes neighbouring ones, one for each thread, and gives them back.

Also finds the cores there are: of two hardware threads of one core only one is used, for they slow each other down.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from photometer.errors import DefinitionError

TOPOLOGY = Path("/sys/devices/system/cpu")


class CorePool:
    """Not for several threads: one scheduler asks."""

    def __init__(self, cores: Sequence[int]) -> None:
        self.cores = tuple(cores)
        self._free = set(self.cores)

    def take(self, count: int, *, from_top: bool = False) -> tuple[int, ...] | None:
        """So many neighbours, the lowest (or highest) there are; None where there are none free."""
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


def usable_cores(asked: Sequence[int] = (), topology: Path = TOPOLOGY) -> tuple[int, ...]:
    """The cores to work on: those asked for, else one logical processor of each core this process may run on."""
    allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    if asked:
        foreign = [core for core in asked if core not in allowed]
        if foreign:
            raise DefinitionError(
                f"this process may not run on processor {foreign[0]}",
                remedy=f"Choose from {', '.join(map(str, allowed))}.",
            )
        return tuple(sorted(set(asked)))
    first_of_core: dict[str, int] = {}
    for processor in allowed:
        first_of_core.setdefault(_siblings(processor, topology), processor)
    return tuple(sorted(first_of_core.values()))


def _siblings(processor: int, topology: Path) -> str:
    """The text that names all hardware threads of this processor's core; the processor alone where it is not told."""
    try:
        return (topology / f"cpu{processor}" / "topology" / "thread_siblings_list").read_text().strip()
    except OSError:
        return str(processor)


def parse_cores(text: str) -> tuple[int, ...]:
    """`0,2-5` as numbers, the way taskset has it."""
    cores: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise DefinitionError(f"{text!r} is no list of cores", remedy="Write it as 0,2-5.")
        cores += range(int(match[1]), int(match[2] or match[1]) + 1)
    return tuple(sorted(set(cores)))
