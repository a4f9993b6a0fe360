"""Findings about a device measurement: warnings, inputs that hold only one value, and the bound of a statement.

A statement is bound by launching on the host, by memory, by arithmetic, or by waiting; the card's peaks decide.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from photometer.instruments.device.accelerator import Accelerator
from photometer.instruments.device.blocks import KeptBlocks
from photometer.instruments.device.sampler import BlockRequest, EventSampler
from photometer.model.device_measurement import (
    ClockReading,
    DeviceMode,
    DeviceWarning,
    DeviceWarningKind,
    Peak,
    Source,
)
from photometer.model.diagnosis import WIDE_INTERVAL
from photometer.model.units import format_seconds
from photometer.stats.summary import median

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
    """Return the bound of a statement with these times, and the shares of the peaks as far as they are known."""
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
    """Measure the requested peaks, once per process, as the best of a few blocks."""
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


# A first call is reported if it takes this long and this many times as long as a later one.
LONG_FIRST_CALL_SECONDS = 0.1
LONG_FIRST_CALL_FACTOR = 20.0
# The cache matters if cold takes this many times as long as hot.
CACHE_MATTERS = 1.1
# A card's clock has steps of 15 MHz, which are 1 % of it or less.
CLOCK_CHANGED = 1.02
# Containers are searched to this depth: a list of tensors, a dict of lists.
DEEPEST = 2
# A scalar or a tiny tensor of one value (an epsilon, a step counter) is not reported.
FEWEST_ELEMENTS = 64


@dataclass(frozen=True)
class Noticed:
    """Facts about a measurement that are not in its modes."""

    first_call_seconds: float
    end_to_end_seconds: float
    synchronises: bool = False
    constant_inputs: Sequence[str] = ()
    reserved_bytes_grown: int = 0
    launch_hidden: bool = True
    profiler_was_attached: bool = False
    profiler_failure: str | None = None
    has_device_work: bool = True
    blocks: Sequence[KeptBlocks] = ()


def warnings_from(noticed: Noticed, hot: DeviceMode, cold: DeviceMode) -> tuple[DeviceWarning, ...]:
    return tuple(DeviceWarning(kind, message) for kind, message in _found(noticed, hot, cold))


def _found(noticed: Noticed, hot: DeviceMode, cold: DeviceMode) -> Iterator[tuple[DeviceWarningKind, str]]:
    if not noticed.has_device_work:
        yield DeviceWarningKind.NO_DEVICE_WORK, "The statement ran nothing on the device."
    if noticed.constant_inputs:
        names = ", ".join(noticed.constant_inputs)
        yield DeviceWarningKind.CONSTANT_INPUT, f"These tensors hold one value only: {names}."
    if noticed.synchronises:
        yield DeviceWarningKind.SYNCHRONISES, "A run waits for the device, so the host cannot work ahead."
    if noticed.reserved_bytes_grown > 0:
        grown = noticed.reserved_bytes_grown / 2**20
        yield (
            DeviceWarningKind.ALLOCATOR_GREW,
            f"Torch's allocator took {grown:.0f} MiB more from the device while it was measured.",
        )
    slow_start = max(LONG_FIRST_CALL_SECONDS, LONG_FIRST_CALL_FACTOR * noticed.end_to_end_seconds)
    if noticed.first_call_seconds > slow_start:
        yield (
            DeviceWarningKind.FIRST_CALL,
            f"The first call took {format_seconds(noticed.first_call_seconds, 3)} (compilation or loading).",
        )
    if hot.measured and cold.measured and _clearly_longer(cold, hot):
        yield (
            DeviceWarningKind.CACHE_HOT,
            f"Hot runs find their data in the device's cache: {format_seconds(hot.median, 3)}, "
            f"cold {format_seconds(cold.median, 3)}.",
        )
    yield from _throttling(noticed.blocks)
    yield from _changed_clock(hot)
    if not noticed.launch_hidden and hot.source is Source.EVENTS:
        yield (
            DeviceWarningKind.LAUNCH_NOT_HIDDEN,
            "The launch could not be hidden: device time includes host time.",
        )
    if noticed.profiler_was_attached:
        yield (
            DeviceWarningKind.PROFILER_ATTACHED,
            "A profiler was used before in this process and stays attached: it adds 2 to 3 us per launch to host time.",
        )
    if noticed.profiler_failure is not None:
        yield DeviceWarningKind.PROFILER_FAILED, f"No kernel times: {noticed.profiler_failure}"
    for mode in (hot, cold):
        if mode.measured and _half_width(mode) > WIDE_INTERVAL:
            yield (
                DeviceWarningKind.WIDE_INTERVAL,
                f"{mode.name.value}: the 95 % interval is ± {_half_width(mode) * 100:.0f} % of the median.",
            )


def _throttling(blocks: Sequence[KeptBlocks]) -> Iterator[tuple[DeviceWarningKind, str]]:
    reasons = ", ".join(sorted({reason for part in blocks for reason in part.reasons}))
    set_aside = sum(part.set_aside for part in blocks)
    if any(part.always for part in blocks):
        yield DeviceWarningKind.THROTTLED, f"The device was held back ({reasons}) in most blocks; they are kept."
    elif set_aside:
        yield DeviceWarningKind.THROTTLED, f"{set_aside} blocks were set aside: the device was held back ({reasons})."


def _changed_clock(mode: DeviceMode) -> Iterator[tuple[DeviceWarningKind, str]]:
    """Yield a warning with the figure at the highest clock, if all of it follows the clock, as arithmetic does."""
    clocks = known_megahertz(mode.clocks)
    if len(clocks) != len(mode.seconds_per_run) or not has_changed(clocks):
        return
    highest = max(clocks)
    at_highest = median([t * clock / highest for t, clock in zip(mode.seconds_per_run, clocks, strict=True)])
    yield (
        DeviceWarningKind.CLOCK_CHANGED,
        f"The clock was {min(clocks):,} to {highest:,} MHz: {format_seconds(mode.median, 3)}, which would be down to "
        f"{format_seconds(at_highest, 3)} at the highest.",
    )


def known_megahertz(readings: Sequence[ClockReading | None]) -> tuple[int, ...]:
    """Return the clocks of the device's processors that were read, in their order."""
    return tuple(reading.sm_megahertz for reading in readings if reading is not None and reading.sm_megahertz)


def has_changed(megahertz: Sequence[int]) -> bool:
    """Return whether these clocks are further apart than the card's own steps."""
    return bool(megahertz) and max(megahertz) > CLOCK_CHANGED * min(megahertz)


def _clearly_longer(cold: DeviceMode, hot: DeviceMode) -> bool:
    return cold.median > CACHE_MATTERS * hot.median and cold.interval_seconds[0] > hot.interval_seconds[1]


def _half_width(mode: DeviceMode) -> float:
    low, high = mode.interval_seconds
    return (high - low) / 2 / mode.median if mode.median > 0 else 0.0


def constant_inputs(variables: Mapping[str, Any], kind: str) -> list[str]:
    """Return the names of tensors on this kind of device that hold only one value, with the value.

    Constant data toggles fewer wires: a bf16 matrix product of zeros ran 13 % faster than one of random numbers on an
    H200. Call it after the warm-up, when an `out=` tensor has been written.
    """
    found = []
    for name, value in variables.items():
        for tensor in _tensors(value):
            if tensor.device.type == kind and tensor.is_floating_point() and tensor.numel() >= FEWEST_ELEMENTS:
                dense = tensor.detach()
                first = dense.reshape(-1)[0]
                if bool((dense == first).all()):
                    found.append(f"{name} (all {float(first):g})")
                    break
    return found


def _tensors(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yield the plain strided tensors in a value, recognised by their attributes, without importing torch."""
    if hasattr(value, "is_floating_point") and hasattr(value, "device") and hasattr(value, "layout"):
        if str(value.layout) == "torch.strided":
            yield value
    elif depth < DEEPEST and isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item, depth + 1)
    elif depth < DEEPEST and isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item, depth + 1)
