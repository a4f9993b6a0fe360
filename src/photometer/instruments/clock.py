"""The clock that times a statement: a plain one, or one that first waits for the accelerator.

Waiting takes microseconds per block, so it is done only if this process has opened an accelerator. A process that has
not cannot have work queued there.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from photometer.worker.accelerators import TorchDevice, device_in_use

Clock = Callable[[], float]


def accelerator_in_use() -> bool:
    """Return whether this process has opened an accelerator, which may have work queued. Do not open one."""
    return _device_in_use() is not None


def _device_in_use() -> TorchDevice | None:
    torch = sys.modules.get("torch")
    return None if torch is None else device_in_use(torch)


def timer() -> float:
    """Return seconds of a monotonic clock, read after an accelerator in use has finished its work."""
    device = _device_in_use()
    if device is not None:
        device.synchronize()
    return time.perf_counter()


def choose_clock(asked: Clock) -> Clock:
    """Return the clock to use: the plain one instead of `timer` if no accelerator is in use; a user's own is kept."""
    if asked is not timer:
        return asked
    device = _device_in_use()
    if device is None:
        return time.perf_counter

    def synchronized_clock() -> float:
        device.synchronize()
        return time.perf_counter()

    return synchronized_clock


def clock_resolution_seconds(clock: Clock) -> float:
    """Return the smallest step of this clock, by reading it several times until it changes."""
    smallest = float("inf")
    for _ in range(20):
        start = end = clock()
        while end == start:
            end = clock()
        smallest = min(smallest, end - start)
    return smallest
