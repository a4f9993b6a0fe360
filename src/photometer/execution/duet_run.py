"""DuetRun: two started environments and replicate after replicate of whatever is to be compared in them.

In: two environments (and wrappers or layouts if asked for). Out: replicates. The servers are restarted now and then, so
that no verdict rests on one pair of processes.
"""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Callable
from types import TracebackType
from typing import Any

from photometer.instruments.duet import Replicate, Side, take_replicate
from photometer.instruments.fork_server import ForkServer

# A replicate long enough for some hundred pairs of blocks; its fork and warm-up cost about 0.05 s on top.
REPLICATE_SECONDS = 0.2
# A start costs 2 s for the pair; a server's own bias was measured at 0.1 %, so a few pairs of servers are enough.
RESTART_EVERY = 24

StartServer = Callable[[], ForkServer]


class DuetRun:
    """Use as a context manager: the servers start when first needed and end with the block."""

    def __init__(
        self,
        start_base: StartServer,
        start_branch: StartServer,
        *,
        core: int | None = None,
        restart_every: int = RESTART_EVERY,
        seed: int | None = None,
    ) -> None:
        self._starts = (start_base, start_branch)
        self._servers: tuple[ForkServer, ForkServer] | None = None
        self._core = quietest_core() if core is None else core
        self._restart_every = restart_every
        self._since_start = 0
        self._chance = random.Random(seed)
        self._open = contextlib.ExitStack()

    def replicate(
        self,
        prepare_base: dict[str, Any],
        prepare_branch: dict[str, Any],
        *,
        seconds: float = REPLICATE_SECONDS,
        timeout_seconds: float = 120.0,
    ) -> Replicate:
        base, branch = self.servers()
        self._since_start += 1
        return take_replicate(
            Side(base, prepare_base),
            Side(branch, prepare_branch),
            seconds=seconds,
            core=self._core,
            chance=self._chance,
            timeout_seconds=timeout_seconds,
        )

    def servers(self) -> tuple[ForkServer, ForkServer]:
        """The running pair; a fresh one where the last has served long enough."""
        if self._servers is not None and self._since_start >= self._restart_every:
            self.close()
        if self._servers is None:
            base, branch = (self._open.enter_context(start()) for start in self._starts)
            self._servers = (base, branch)
            self._since_start = 0
        return self._servers

    def close(self) -> None:
        self._servers = None
        self._open.close()

    def __enter__(self) -> DuetRun:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def quietest_core(look_seconds: float = 0.05) -> int | None:
    """The core that was idle most over a short look, of those this process may use; None where that cannot be told."""
    import time

    if not hasattr(os, "sched_getaffinity"):
        return None
    before = _busy_ticks()
    time.sleep(look_seconds)
    after = _busy_ticks()
    allowed = sorted(os.sched_getaffinity(0))
    # The last of equals: the first core serves most interrupts.
    return min(reversed(allowed), key=lambda core: after.get(core, 0) - before.get(core, 0))


def _busy_ticks() -> dict[int, int]:
    """Ticks each core has spent on anything but idling, from /proc/stat."""
    busy = {}
    with open("/proc/stat") as lines:  # noqa: PTH123
        for line in lines:
            name, *fields = line.split()
            if name.startswith("cpu") and name != "cpu":
                ticks = [int(field) for field in fields]
                busy[int(name[3:])] = sum(ticks[:3]) + sum(ticks[5:8])
    return busy
