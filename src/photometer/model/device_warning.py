"""DeviceWarning: one reason to doubt, or to read with care, what was measured on an accelerator. Data, not text."""

from __future__ import annotations

import dataclasses
import enum


class DeviceWarningKind(enum.Enum):
    CONSTANT_INPUT = "constant-input"
    SYNCHRONISES = "synchronises"
    ALLOCATOR_GREW = "allocator-grew"
    CACHE_HOT = "cache-hot"
    FIRST_CALL = "first-call"
    THROTTLED = "throttled"
    LAUNCH_NOT_HIDDEN = "launch-not-hidden"
    PROFILER_ATTACHED = "profiler-attached"
    PROFILER_FAILED = "profiler-failed"
    NO_DEVICE_WORK = "no-device-work"
    WIDE_INTERVAL = "wide-interval"


_REMEDIES = {
    DeviceWarningKind.CONSTANT_INPUT: "Use random data: constant data draws less power, so the clock stays higher.",
    DeviceWarningKind.SYNCHRONISES: "Look for .item(), .cpu(), nonzero, printing, or copies from unpinned memory.",
    DeviceWarningKind.ALLOCATOR_GREW: "See that the statement keeps no tensors alive from run to run.",
    DeviceWarningKind.CACHE_HOT: "Take the cold figure if the program does other work between two such runs.",
    DeviceWarningKind.FIRST_CALL: "It is not in the figures. Count it apart if the program pays it often.",
    DeviceWarningKind.THROTTLED: "Compare such figures only with others taken under the same load, side by side.",
    DeviceWarningKind.LAUNCH_NOT_HIDDEN: "Let the profiler give the device time (source='profiler').",
    DeviceWarningKind.PROFILER_ATTACHED: "For the host's own time, measure in a fresh process.",
    DeviceWarningKind.PROFILER_FAILED: "Times are from events. End other profilers in this process.",
    DeviceWarningKind.NO_DEVICE_WORK: "Check that the tensors are on the accelerator.",
    DeviceWarningKind.WIDE_INTERVAL: "Measure longer: min_run_time, or precision with max_run_time.",
}


@dataclasses.dataclass(frozen=True)
class DeviceWarning:
    kind: DeviceWarningKind
    message: str

    @property
    def remedy(self) -> str:
        return _REMEDIES[self.kind]

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}"
