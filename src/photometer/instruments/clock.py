"""The clock a statement is timed by: the plain one, or one that first waits for the accelerator.

Waiting costs microseconds a block, so it is done only where the statement can have reached an accelerator: where
this process has opened one. A process that has not cannot have work queued there.
"""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], float]


def accelerator_in_use() -> bool:
    """Whether this process has an accelerator open, so that work may be queued on it. Never opens one itself."""
    import sys

    torch = sys.modules.get("torch")
    if torch is None:
        return False
    # torch.accelerator.is_available() on CUDA only counts devices, which does not open the device.
    if not hasattr(torch, "accelerator") or not torch.accelerator.is_available():
        return bool(torch.cuda.is_available() and torch.cuda.is_initialized())
    module = torch.get_device_module(torch.accelerator.current_accelerator())
    is_initialized = getattr(module, "is_initialized", None)
    # A backend that cannot tell (MPS) may have work queued at any time.
    return True if is_initialized is None else bool(is_initialized())


def timer() -> float:
    """Seconds on a monotone clock, read after the accelerator has finished what it was given, if one is in use."""
    if accelerator_in_use():
        _synchronize()
    return time.perf_counter()


def choose_clock(asked: Clock) -> Clock:
    """The default `timer` becomes the plain clock where no accelerator is in use; a user's own clock is kept."""
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
    """The smallest step this clock is seen to make: read until it changes, a few times."""
    smallest = float("inf")
    for _ in range(20):
        start = end = clock()
        while end == start:
            end = clock()
        smallest = min(smallest, end - start)
    return smallest
