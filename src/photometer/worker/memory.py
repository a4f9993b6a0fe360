"""What one run of a statement allocates: torch's own report of each allocation, and what only the process shows.

On the CPU, torch reports every block that its allocator takes or frees while its profiler is on. One session of the
profiler covers one run, so nothing else is in it. Sessions follow each other without a gap: a result that the next run
replaces is then known when it is freed. On an accelerator the caching allocator keeps the figures itself.
Torch does not see what NumPy, MKL or Python take; the most memory that the process held shows that, in whole pages.
Standard library and torch only: the worker runs it, and `Timer.measure_memory` too.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from .accelerators import device_in_use, open_device
from .messages import ANY_DEVICE, MeasuredMemory, MeasureMemory
from .torch_here import needed_torch

RunBlock = Callable[[int], float]

# Runs before the first that is kept: lazy initialisation, and results that the next run replaces.
PRIMING_RUNS = 2
# An allocation in the profiler's events has this name.
MEMORY_EVENT = "[memory]"
KIBIBYTE = 1024


def measure_memory(run_block: RunBlock, request: MeasureMemory) -> MeasuredMemory:
    return take_memory(
        run_block, request.repeats, opened_device if request.device == ANY_DEVICE else lambda: request.device
    )


def opened_device() -> str:
    """Return the accelerator that this process uses; known when the statement has run."""
    import torch

    device = device_in_use(torch)
    return "" if device is None else f"{device.kind}:{device.index}"


def take_memory(run_block: RunBlock, repeats: int, device_of: Callable[[], str]) -> MeasuredMemory:
    """Run the statement `repeats` times, after runs that are not kept; then read the figures of its device."""
    torch = needed_torch("measuring what a run allocates")
    # Before the profiler's first session, which otherwise writes two lines per session to stderr.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    host = [figures_of(host_events(torch, run_block)) for _ in range(PRIMING_RUNS + repeats)][PRIMING_RUNS:]
    device = device_of()
    figures: list[list[int]] = []
    reserved = None
    # A backend that does not report memory is named, without figures.
    if device and (opened := open_device(torch, device)).why_missing("memory") is None:
        figures, reserved = device_figures(opened.module, device, run_block, repeats)
    return MeasuredMemory(host, figures, reserved, process_peak(run_block), device)


def host_events(torch: Any, run_block: RunBlock) -> list[int]:
    """Run once and return the bytes of each block that was taken (above 0) or freed (below 0) on the CPU, in order."""
    from torch._C._autograd import DeviceType, _disable_profiler, _enable_profiler, _prepare_profiler
    from torch._C._profiler import ProfilerActivity, ProfilerConfig, ProfilerState, _ExperimentalConfig

    # No shapes, no stacks, no FLOPs, no modules: memory alone.
    config = ProfilerConfig(ProfilerState.KINETO, False, True, False, False, False, _ExperimentalConfig())
    activities = {ProfilerActivity.CPU}
    _prepare_profiler(config, activities)
    _enable_profiler(config, activities)
    try:
        run_block(1)
    finally:
        events = _disable_profiler().events()
    found = [
        (event.start_ns(), event.nbytes())  # type: ignore[attr-defined]  # not in the stubs
        for event in events
        if event.name() == MEMORY_EVENT and event.device_type() == DeviceType.CPU
    ]
    # Several threads report in lists of their own; within one thread the order is kept.
    return [size for _, size in sorted(found, key=lambda event: event[0])]


def figures_of(events: list[int]) -> list[int]:
    """Return the peak above the start, all bytes taken, the number of blocks taken, and what is left at the end."""
    held = peak = taken = blocks = 0
    for size in events:
        held += size
        peak = max(peak, held)
        if size > 0:
            taken += size
            blocks += 1
    return [peak, taken, blocks, held]


def device_figures(module: Any, device: str, run_block: RunBlock, repeats: int) -> tuple[list[list[int]], int]:
    """Return the figures of each run by the allocator of torch.KIND, and the most that it had reserved."""

    def stats() -> dict[str, int]:
        module.synchronize(device)
        return dict(module.memory_stats(device))

    figures, reserved = [], 0
    for _ in range(repeats):
        module.reset_peak_memory_stats(device)
        before = stats()
        run_block(1)
        after = stats()

        def grown(
            name: str, before: dict[str, int] = before, after: dict[str, int] = after, start: str | None = None
        ) -> int:
            return int(after.get(name, 0)) - int(before.get(start or name, 0))

        figures.append(
            [
                grown("allocated_bytes.all.peak", start="allocated_bytes.all.current"),
                grown("allocated_bytes.all.allocated"),
                grown("allocation.all.allocated"),
                grown("allocated_bytes.all.current"),
            ]
        )
        reserved = max(reserved, int(after.get("reserved_bytes.all.peak", 0)))
    return figures, reserved


def process_peak(run_block: RunBlock) -> int | None:
    """Return by how much the process grew during one run; None if the system does not report it.

    Free memory is given back to the system first: memory that the heap kept from earlier runs would hide this one's.
    """
    with contextlib.suppress(OSError, AttributeError, KeyError, ValueError):
        _give_back_free_memory()
        with open("/proc/self/clear_refs", "w") as file:  # noqa: PTH123
            file.write("5")  # Forget the highest amount so far: proc(5).
        before = _status_bytes()["VmRSS"]
        run_block(1)
        return max(_status_bytes()["VmHWM"] - before, 0)
    return None


def _give_back_free_memory() -> None:
    import ctypes

    ctypes.CDLL(None).malloc_trim(0)


def _status_bytes() -> dict[str, int]:
    return dict(_status_lines())


def _status_lines() -> Iterator[tuple[str, int]]:
    with open("/proc/self/status") as file:  # noqa: PTH123
        for line in file:
            name, _, value = line.partition(":")
            if name in ("VmHWM", "VmRSS"):
                yield name, int(value.split()[0]) * KIBIBYTE
