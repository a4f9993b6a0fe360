"""What limits a statement: launching on the host, memory, arithmetic, or waiting; and the card's peaks.

The peaks are measured, by a large copy for memory and a large matrix product for arithmetic: no program reaches the
rates of a datasheet, but a share of a measured peak shows how far a kernel is from what is possible.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from photometer.instruments.device.accelerator import Accelerator
from photometer.instruments.device.sampler import BlockRequest, EventSampler
from photometer.model.device_measurement import Peak
from photometer.model.units import format_seconds

# A side limits a statement if it takes this many times as long as the other one; below that, both do.
CLEARLY_LONGER = 1.1
# From this share of a measured peak on, that resource limits the device. Kernels that stream memory reach 85 to 95 % of
# the copy rate; 60 % leaves room for those that are a little slower.
NEAR_PEAK = 0.6
# Many times the cache, and long enough (0.5 ms at 4 TB/s) that a gap of 1 us does not show.
COPY_BYTES = 2**30
# 8192 fills a large card: 1.1e12 FLOPs, 1.5 ms at 750 TFLOP/s.
MATRIX_SIDE = 8192
RUNS_PER_BLOCK = 10
BLOCKS = 5
# The host queues a copy or a product in some tens of microseconds.
HOST_SECONDS_PER_RUN = 50e-6


def bound_in_words(
    host_seconds: float,
    device_seconds: float | None,
    *,
    cold_seconds: float | None = None,
    synchronises: bool = False,
    bytes_per_run: float | None = None,
    flops_per_run: float | None = None,
    peak: Peak | None = None,
) -> str:
    """Return what limits a statement with these times, and the shares of the peaks as far as they are known."""
    if not device_seconds:
        return "no device work was seen"
    times = f"kernels {_short(device_seconds)}, host {_short(host_seconds)}"
    if synchronises:
        return f"bound by waiting: each run waits for the device ({times} with the wait)"
    if host_seconds > CLEARLY_LONGER * device_seconds:
        return f"launch-bound: {times}"
    shares = shares_of_peak(device_seconds, cold_seconds or device_seconds, bytes_per_run, flops_per_run, peak)
    word = "device-bound" if device_seconds > CLEARLY_LONGER * host_seconds else "bound by host and device alike"
    if not shares:
        return f"{word}: {times}"
    what, share = max(shares.items(), key=lambda item: item[1])
    listed = ", ".join(f"{value * 100:.0f} % of the {_CEILINGS[name]}" for name, value in shares.items())
    if share >= NEAR_PEAK:
        return f"{what}-bound: {listed}; {times}"
    return f"{word}, but by neither memory nor arithmetic: {listed}; {times}"


_CEILINGS = {"memory": "copy rate measured on this card", "compute": "matrix rate measured on this card"}


def shares_of_peak(
    hot_seconds: float,
    cold_seconds: float,
    bytes_per_run: float | None,
    flops_per_run: float | None,
    peak: Peak | None,
) -> dict[str, float]:
    """Return the shares of the card's measured peaks, by resource, as far as they are known.

    The share of memory uses the cold time: hot, the bytes may come from the cache, faster than memory is.
    """
    shares = {}
    if peak is not None and bytes_per_run and peak.bytes_per_second:
        shares["memory"] = bytes_per_run / cold_seconds / peak.bytes_per_second
    if peak is not None and flops_per_run and peak.flops_per_second:
        shares["compute"] = flops_per_run / hot_seconds / peak.flops_per_second
    return shares


def _short(seconds: float) -> str:
    return format_seconds(seconds, 3)


def measured_peak(accelerator: Accelerator, *, memory: bool, flops_dtype: str | None) -> Peak:
    """Measure the requested peaks, once per process, as the best of a few blocks: a peak is what the card can do."""
    return Peak(
        bytes_per_second=_copy_rate(accelerator) if memory else None,
        flops_per_second=_matrix_rate(accelerator, flops_dtype) if flops_dtype is not None else None,
        flops_dtype=flops_dtype,
    )


@functools.lru_cache(maxsize=8)
def _copy_rate(accelerator: Accelerator) -> float:
    import torch

    source = torch.randint(0, 255, (COPY_BYTES,), dtype=torch.uint8, device=accelerator.kind)
    target = torch.empty_like(source)
    return 2 * COPY_BYTES / best_seconds(accelerator, lambda: target.copy_(source))


@functools.lru_cache(maxsize=8)
def _matrix_rate(accelerator: Accelerator, dtype: str) -> float:
    import torch

    a, b = (torch.randn(MATRIX_SIDE, MATRIX_SIDE, device=accelerator.kind).to(getattr(torch, dtype)) for _ in range(2))
    return 2 * MATRIX_SIDE**3 / best_seconds(accelerator, lambda: a @ b)


def best_seconds(accelerator: Accelerator, work: Callable[[], object]) -> float:
    def run(runs: int) -> float:
        for _ in range(runs):
            work()
        return 0.0

    run(1)
    request = BlockRequest(run, RUNS_PER_BLOCK, HOST_SECONDS_PER_RUN)
    return min(sample.seconds_per_run for sample in EventSampler(accelerator).sample([request] * BLOCKS))
