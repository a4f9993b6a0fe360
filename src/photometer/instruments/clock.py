"""The clock that times a statement: a plain one, or one that first waits for the accelerator.

Waiting takes microseconds per block, so it is done only if this process has opened an accelerator. A process that has
not cannot have work queued there.
"""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], float]


def accelerator_in_use() -> bool:
    """Return whether this process has opened an accelerator, which may have work queued. Do not open one."""
    import sys

    torch = sys.modules.get("torch")
    if torch is None:
        return False
    # torch.accelerator.is_available() on CUDA only counts devices, which does not open one.
    if not hasattr(torch, "accelerator") or not torch.accelerator.is_available():
        return bool(torch.cuda.is_available() and torch.cuda.is_initialized())
    module = torch.get_device_module(torch.accelerator.current_accelerator())
    is_initialized = getattr(module, "is_initialized", None)
    # A backend without this function (MPS) may have work queued at any time.
    return True if is_initialized is None else bool(is_initialized())


def timer() -> float:
    """Return seconds of a monotonic clock, read after an accelerator in use has finished its work."""
    if accelerator_in_use():
        _synchronize()
    return time.perf_counter()


def choose_clock(asked: Clock) -> Clock:
    """Return the clock to use: the plain one instead of `timer` if no accelerator is in use; a user's own is kept."""
    if asked is not timer:
        return asked
    return _synchronized_clock if accelerator_in_use() else time.perf_counter


def _synchronized_clock() -> float:
    _synchronize()
    return time.perf_counter()


def _synchronize() -> None:
    import torch

    if hasattr(torch, "accelerator") and torch.accelerator.is_available():
        torch.accelerator.synchronize()
    else:
        torch.cuda.synchronize()


def clock_resolution_seconds(clock: Clock) -> float:
    """Return the smallest step of this clock, by reading it several times until it changes."""
    smallest = float("inf")
    for _ in range(20):
        start = end = clock()
        while end == start:
            end = clock()
        smallest = min(smallest, end - start)
    return smallest
