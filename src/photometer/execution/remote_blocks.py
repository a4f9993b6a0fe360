"""RemoteBlocks: blocks timed in a worker's child, fetched several at a time, with what the child noticed of each.

It gives the wall-time instrument a function that times a block, and a watch that knows whether it was preempted:
the child's own count, because this side only waits. Fetching several at once keeps our own delays out of the way.
"""

from __future__ import annotations

import time
from collections import deque

from photometer.errors import WorkerTimeout
from photometer.instruments.wall_time import CoreWatch
from photometer.model.conditions import Conditions
from photometer.session.fork_server import ChildProcess

# A fetch takes about so long: long beside the 0.1 ms of a question and its answer, short beside the time to measure.
FETCH_SECONDS = 0.02
MOST_BLOCKS_A_FETCH = 64


class RemoteBlocks(CoreWatch):
    """`time_block(n)` and the watch over it in one: the watch speaks of the block that was handed out last."""

    is_this_thread = False

    def __init__(self, child: ChildProcess, timeout_seconds: float) -> None:
        self._child = child
        self._deadline = time.monotonic() + timeout_seconds
        self._timeout_seconds = timeout_seconds
        super().__init__()
        self._number, self._last_seconds = -1, 0.0
        self._fetched: deque[tuple[float, bool]] = deque()
        self._last_was_preempted = False
        self._wall_seconds = self._cpu_seconds = 0.0
        self._noticed_preemptions = 0

    def time_block(self, number: int) -> float:
        if number != self._number or not self._fetched:
            self._fetch(number)
        seconds, self._last_was_preempted = self._fetched.popleft()
        return seconds

    def was_preempted(self) -> bool:
        return self._last_was_preempted

    def conditions(self) -> Conditions:
        return Conditions(
            wall_seconds=self._wall_seconds, cpu_seconds=self._cpu_seconds, preemptions=self._noticed_preemptions
        )

    def _fetch(self, number: int) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            self._child.kill()
            raise WorkerTimeout(
                f"not finished within {self._timeout_seconds:g} s",
                remedy="Give it longer (--timeout), or measure less (--min-run-time).",
            )
        blocks = 1
        if number == self._number:
            blocks = int(min(max(FETCH_SECONDS / max(self._last_seconds, 1e-9), 1), MOST_BLOCKS_A_FETCH))
        else:
            # What was noticed while warming up with other numbers does not belong to the measurement.
            self._wall_seconds = self._cpu_seconds = 0.0
            self._noticed_preemptions = 0
        answer = self._child.ask("time", left, number=number, blocks=blocks)
        times, preemptions = answer["block_seconds"], answer["block_preemptions"]
        self._fetched = deque((s, p > 0) for s, p in zip(times, preemptions, strict=True))
        self._number, self._last_seconds = number, max(times)
        self._wall_seconds += answer["wall_seconds"]
        self._cpu_seconds += answer["cpu_seconds"]
        self._noticed_preemptions += sum(preemptions)
