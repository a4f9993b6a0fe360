"""Kernel times from torch's profiler: a body of device work in, every kernel's own start and duration out.

The profiler reads the device's timestamps (CUPTI on NVIDIA), so launch gaps are not in them. Only device activity is
asked for. The first use in a process takes seconds (4.3 s on an H200 machine), a later one some milliseconds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from photometer.errors import MeasurementError
from photometer.instruments.device.accelerator import KernelRecord

# Kineto keeps the library attached after a session, and each launch then costs the host about 3 us more. torch does
# not tell whether it is attached, so we remember that we did it.
_used = False


class TorchProfiler:
    """A KernelProfiler for the device that `kind` names. `queue_marker` queues one kernel on the harness's stream."""

    def __init__(self, kind: str, synchronize: Callable[[], None], queue_marker: Callable[[], None]) -> None:
        self._kind = kind
        self._synchronize = synchronize
        self._queue_marker = queue_marker

    def was_used(self) -> bool:
        return _used

    def record(self, body: Callable[[], None]) -> list[KernelRecord]:
        from torch.profiler import ProfilerActivity, profile

        global _used
        _used = True
        self._synchronize()
        with warnings.catch_warnings():
            # "Profiler clears events at the end of each cycle": so it should.
            warnings.simplefilter("ignore", UserWarning)
            with profile(activities=[getattr(ProfilerActivity, self._kind.upper())]) as session:
                self._queue_marker()
                body()
                self._synchronize()
        kept = session.profiler
        results = None if kept is None else kept.kineto_results
        if results is None:
            raise MeasurementError("torch's profiler kept no results", remedy="Measure with source='events'.")
        return device_records(results.events(), self._kind)


def device_records(events: Any, kind: str) -> list[KernelRecord]:
    """The device's own records among the profiler's events, by start; spans that only annotate are left out."""
    records = []
    for event in events:
        if event.device_type().name.lower() != kind or _annotates(event):
            continue
        records.append(KernelRecord(event.name(), event.start_ns(), event.duration_ns(), event.device_resource_id()))
    return sorted(records, key=lambda record: record.start_nanoseconds)


def _annotates(event: Any) -> bool:
    is_annotation = getattr(event, "is_user_annotation", None)
    return bool(is_annotation()) if is_annotation is not None else False


def profiler_supports(kind: str) -> bool:
    import torch.profiler as torch_profiler

    activity = getattr(torch_profiler.ProfilerActivity, kind.upper(), None)
    return activity is not None and activity in torch_profiler.supported_activities()
