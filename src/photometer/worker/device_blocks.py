"""Blocks of runs timed on the accelerator itself, between two marks in its queue.

The device is held by a spinning kernel until a block is queued whole, so that its time is no picture of how fast the
host launches. `DeviceBlocks(run_block)` is called like `run_block`, and answers seconds of device time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

RunBlock = Callable[[int], object]

# The hold is so many times as long as queueing took before, for the next time may be slower.
HOLD_MARGIN = 1.5
SHORTEST_HOLD_SECONDS = 50e-6
# Long enough for anything that fits the device's queue (about 1,000 launches).
LONGEST_HOLD_SECONDS = 0.2
# A block whose launch showed is taken again with a hold so much longer, so often at most.
LONGER_HOLD = 3.0
ATTEMPTS = 3
# Spins that the device's clock rate is learned from.
CALIBRATION_CYCLES = 2_000_000
# Two marks with nothing between them are some microseconds apart, however many runs were asked for.
NOTHING_SECONDS = 20e-6
RUNS_TO_BELIEVE_NOTHING = 1000


class DeviceBlocks:
    """`cuda` is torch.cuda, or something like it."""

    def __init__(self, run_block: RunBlock, cuda: Any) -> None:
        self._run_block = run_block
        self._cuda = cuda
        self._queueing_seconds_per_run = 0.0
        self._cycles_per_second = self._calibrate()

    def __call__(self, number: int) -> float:
        seconds = 0.0
        for attempt in range(ATTEMPTS):
            seconds, was_hidden = self._take(number, HOLD_MARGIN * LONGER_HOLD**attempt)
            if was_hidden:
                break
        if number >= RUNS_TO_BELIEVE_NOTHING and seconds < NOTHING_SECONDS:
            raise RuntimeError("the statement does no work on the device: there is no device time to compare")
        return seconds

    def _take(self, number: int, hold_margin: float) -> tuple[float, bool]:
        """One block, and whether the device had still been held when its last run was queued."""
        self._cuda.synchronize()
        start, end = (self._cuda.Event(enable_timing=True) for _ in range(2))
        wanted = hold_margin * self._queueing_seconds_per_run * (number + 1) + SHORTEST_HOLD_SECONDS
        self._cuda._sleep(int(min(wanted, LONGEST_HOLD_SECONDS) * self._cycles_per_second))
        began = time.perf_counter()
        # Not timed: another process had the device before, and its caches.
        self._run_block(1)
        start.record()
        self._run_block(number)
        end.record()
        was_hidden = not start.query()
        self._queueing_seconds_per_run = (time.perf_counter() - began) / (number + 1)
        end.synchronize()
        return start.elapsed_time(end) / 1e3, was_hidden

    def _calibrate(self) -> float:
        """Cycles of a spin in a second. The second of two: the first finds the clock still low."""
        seconds = 0.0
        for _ in range(2):
            start, end = (self._cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            self._cuda._sleep(CALIBRATION_CYCLES)
            end.record()
            end.synchronize()
            seconds = start.elapsed_time(end) / 1e3
        return CALIBRATION_CYCLES / max(seconds, 1e-9)
