"""DuetRun: two started environments and replicate after replicate of whatever is to be compared in them.

In: two functions that start a server each. Out: replicates. Several pairs of servers take turns, so that no verdict
rests on one pair of processes.
"""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Callable
from types import TracebackType
from typing import Any

from photometer.instruments.duet import Replicate, Side, take_replicate
from photometer.session.fork_server import ForkServer

# Long enough for a hundred and more pairs of blocks; its fork and warm-up cost about 0.05 s on top.
REPLICATE_SECONDS = 0.15
# A pair of servers has a bias of its own, mostly below 0.1 % and seldom 0.2 %. With 0.15 % and one pair for all, 6 %
# of comparisons were false alarms; with another pair every six replicates, under 0.5 %.
REPLICATES_PER_PAIR = 6
# Enough pairs that none decides alone; a start costs 2 s, so they are kept and used in turn.
MOST_PAIRS = 4

StartServer = Callable[[], ForkServer]


class DuetRun:
    """Use as a context manager: pairs of servers start when first needed and end with the block."""

    def __init__(
        self,
        start_base: StartServer,
        start_branch: StartServer,
        *,
        core: int | None = None,
        seed: int | None = None,
    ) -> None:
        self._starts = (start_base, start_branch)
        self._pairs: list[tuple[ForkServer, ForkServer]] = []
        self._core = quietest_core() if core is None else core
        self._turn = 0
        self._chance = random.Random(seed)
        self._open = contextlib.ExitStack()

    def replicate(
        self,
        prepare_base: dict[str, Any],
        prepare_branch: dict[str, Any],
        *,
        seconds: float = REPLICATE_SECONDS,
        timeout_seconds: float = 120.0,
        turn: int | None = None,
    ) -> Replicate:
        """One replicate. `turn` is how many the same benchmark has had: it decides which pair of servers is next."""
        turn = self._turn if turn is None else turn
        self._turn = turn + 1
        base, branch = self.servers((turn // REPLICATES_PER_PAIR) % MOST_PAIRS)
        return take_replicate(
            Side(base, prepare_base),
            Side(branch, prepare_branch),
            seconds=seconds,
            core=self._core,
            chance=self._chance,
            timeout_seconds=timeout_seconds,
        )

    def servers(self, pair: int = 0) -> tuple[ForkServer, ForkServer]:
        """A running pair, started if it is not there yet."""
        while len(self._pairs) <= pair:
            base, branch = (self._open.enter_context(start()) for start in self._starts)
            self._pairs.append((base, branch))
        return self._pairs[pair]

    def close(self) -> None:
        self._pairs.clear()
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
