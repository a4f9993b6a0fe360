"""What this card does at best, measured once a process: a large copy for memory, a large matrix product for arithmetic.

Datasheet rates are not reached by anything; a share of a measured peak says how far a kernel is from what is possible.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from photometer.instruments.device.accelerator import Accelerator
from photometer.instruments.device.sampler import BlockRequest, EventSampler
from photometer.model.device_measurement import Peak

# Many times the cache, and long enough (0.5 ms at 4 TB/s) that a gap of 1 us does not show.
COPY_BYTES = 2**30
# 8192 fills a large card: 1.1e12 FLOPs, 1.5 ms at 750 TFLOP/s.
MATRIX_SIDE = 8192
RUNS_PER_BLOCK = 10
BLOCKS = 5
# The host queues a copy or a product in some tens of microseconds.
HOST_SECONDS_PER_RUN = 50e-6


def measured_peak(accelerator: Accelerator, *, memory: bool, flops_dtype: str | None) -> Peak:
    """The peaks asked for. The best of a few blocks: a peak is what the card can do, not what it mostly does."""
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
