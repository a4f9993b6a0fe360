"""What was noticed while measuring, as warnings. Pure: facts in, warnings out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from photometer.instruments.device.throttling import Sieved
from photometer.model.device_measurement import DeviceWarning, DeviceWarningKind
from photometer.model.device_mode import DeviceMode, Source
from photometer.model.units import format_seconds

# A first call is worth a word when it takes this long and this many times a later one.
LONG_FIRST_CALL_SECONDS = 0.1
LONG_FIRST_CALL_FACTOR = 20.0
# Hot and cold differ enough to matter from here on.
CACHE_MATTERS = 1.1
# An interval reaching further than this share to either side of the median is wide.
WIDE_INTERVAL = 0.05


@dataclass(frozen=True)
class Noticed:
    """Facts that are not in the modes themselves."""

    first_call_seconds: float
    end_to_end_seconds: float
    synchronises: bool = False
    constant_inputs: Sequence[str] = ()
    reserved_bytes_grown: int = 0
    launch_hidden: bool = True
    profiler_was_attached: bool = False
    profiler_failure: str | None = None
    has_device_work: bool = True
    sieved: Sequence[Sieved] = ()


def warnings_from(noticed: Noticed, hot: DeviceMode, cold: DeviceMode) -> tuple[DeviceWarning, ...]:
    return tuple(DeviceWarning(kind, message) for kind, message in _found(noticed, hot, cold))


def _found(noticed: Noticed, hot: DeviceMode, cold: DeviceMode) -> Iterator[tuple[DeviceWarningKind, str]]:
    if not noticed.has_device_work:
        yield DeviceWarningKind.NO_DEVICE_WORK, "the statement ran nothing on the device."
    if noticed.constant_inputs:
        names = ", ".join(noticed.constant_inputs)
        yield DeviceWarningKind.CONSTANT_INPUT, f"these tensors hold one value only: {names}."
    if noticed.synchronises:
        yield DeviceWarningKind.SYNCHRONISES, "a run waits for the device, so the host cannot work ahead."
    if noticed.reserved_bytes_grown > 0:
        grown = noticed.reserved_bytes_grown / 2**20
        yield (
            DeviceWarningKind.ALLOCATOR_GREW,
            f"torch's allocator took {grown:.0f} MiB more from the device while it was measured.",
        )
    slow_start = max(LONG_FIRST_CALL_SECONDS, LONG_FIRST_CALL_FACTOR * noticed.end_to_end_seconds)
    if noticed.first_call_seconds > slow_start:
        yield (
            DeviceWarningKind.FIRST_CALL,
            f"the first call took {format_seconds(noticed.first_call_seconds, 3)} (compilation or loading).",
        )
    if hot.measured and cold.measured and _clearly_longer(cold, hot):
        yield (
            DeviceWarningKind.CACHE_HOT,
            f"hot runs find their data in the device's cache: {format_seconds(hot.median, 3)}, "
            f"cold {format_seconds(cold.median, 3)}.",
        )
    yield from _throttling(noticed.sieved)
    if not noticed.launch_hidden and hot.source is Source.EVENTS:
        yield DeviceWarningKind.LAUNCH_NOT_HIDDEN, "the launch could not be hidden: device time holds host time too."
    if noticed.profiler_was_attached:
        yield (
            DeviceWarningKind.PROFILER_ATTACHED,
            "a profiler was used before in this process and stays attached: it adds 2 to 3 us a launch to host time.",
        )
    if noticed.profiler_failure is not None:
        yield DeviceWarningKind.PROFILER_FAILED, f"no kernel times: {noticed.profiler_failure}"
    for mode in (hot, cold):
        if mode.measured and _half_width(mode) > WIDE_INTERVAL:
            yield (
                DeviceWarningKind.WIDE_INTERVAL,
                f"{mode.name.value}: the 95 % interval is ± {_half_width(mode) * 100:.0f} % of the median.",
            )


def _throttling(sieved: Sequence[Sieved]) -> Iterator[tuple[DeviceWarningKind, str]]:
    reasons = ", ".join(sorted({reason for part in sieved for reason in part.reasons}))
    set_aside = sum(part.set_aside for part in sieved)
    if any(part.always for part in sieved):
        yield DeviceWarningKind.THROTTLED, f"the device was held back ({reasons}) in most blocks; they are kept."
    elif set_aside:
        yield DeviceWarningKind.THROTTLED, f"{set_aside} blocks were set aside: the device was held back ({reasons})."


def _clearly_longer(cold: DeviceMode, hot: DeviceMode) -> bool:
    return cold.median > CACHE_MATTERS * hot.median and cold.interval[0] > hot.interval[1]


def _half_width(mode: DeviceMode) -> float:
    low, high = mode.interval
    return (high - low) / 2 / mode.median if mode.median > 0 else 0.0
