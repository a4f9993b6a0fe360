"""Warnings about a measurement, and the check for inputs that hold only one value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from photometer.instruments.device.blocks import KeptBlocks
from photometer.model.device_measurement import DeviceWarning, DeviceWarningKind
from photometer.model.device_mode import DeviceMode, Source
from photometer.model.diagnosis import WIDE_INTERVAL
from photometer.model.units import format_seconds

# A first call is reported if it takes this long and this many times as long as a later one.
LONG_FIRST_CALL_SECONDS = 0.1
LONG_FIRST_CALL_FACTOR = 20.0
# The cache matters if cold takes this many times as long as hot.
CACHE_MATTERS = 1.1
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
    if not noticed.launch_hidden and hot.source is Source.EVENTS:
        yield DeviceWarningKind.LAUNCH_NOT_HIDDEN, "The launch could not be hidden: device time holds host time too."
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
