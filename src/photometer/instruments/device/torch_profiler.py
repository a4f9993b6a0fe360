"""Kernel times from torch's profiler: a body of device work in, every kernel's own start and duration out.

The profiler reads the device's timestamps (CUPTI on NVIDIA), so launch gaps are not in them. Only device activity is
recorded. The first use in a process takes seconds (4 to 5 s on an H200 machine), a later one some milliseconds.
"""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from photometer.errors import MeasurementError
from photometer.instruments.device.accelerator import KernelRecord
from photometer.worker.accelerators import Backend

# Kineto reads this at the end of a session: with "1" it detaches CUPTI. If it stays attached, each launch takes the
# host about 3 us longer (9.0 against 6.3 us on an H200 machine). Set at the start but not at the end, it makes the
# next session empty.
TEARDOWN = "TEARDOWN_CUPTI"
# Before CUDA 12.6 detaching could crash programs that use graphs.
FIRST_CUDA_TO_DETACH = (12, 6)
# CUPTI detaches inside later calls to the driver, within some milliseconds, and delays one of them.
DETACHING_SECONDS = 0.03


class TorchProfiler:
    """A KernelProfiler for the devices of a backend. `queue_marker` queues one kernel on our own stream."""

    def __init__(self, backend: Backend, synchronize: Callable[[], None], queue_marker: Callable[[], None]) -> None:
        self._backend = backend
        self._synchronize = synchronize
        self._queue_marker = queue_marker
        # torch does not report whether the library is attached, so we remember that we attached it.
        self._attached = False

    def attached(self) -> bool:
        return self._attached

    def detach(self) -> None:
        """Run an empty session that detaches at its end."""
        if not self._attached or not can_detach():
            return
        self._session(self._synchronize, detach=True)
        end = time.perf_counter() + DETACHING_SECONDS
        while time.perf_counter() < end:
            self._queue_marker()
            self._synchronize()
        self._attached = False

    def record(self, body: Callable[[], None]) -> list[KernelRecord]:
        self._attached = True
        return self._session(body, detach=False)

    def _session(self, body: Callable[[], None], *, detach: bool) -> list[KernelRecord]:
        from torch.profiler import ProfilerActivity, profile

        self._synchronize()
        with warnings.catch_warnings(), environment_restored(TEARDOWN):
            # torch warns that events are cleared at the end of each cycle, which is intended here.
            warnings.simplefilter("ignore", UserWarning)
            with profile(activities=[getattr(ProfilerActivity, self._backend.activity)]) as session:
                self._queue_marker()
                body()
                self._synchronize()
                if detach:
                    os.environ[TEARDOWN] = "1"
        kept = session.profiler
        results = None if kept is None else kept.kineto_results
        if results is None:
            raise MeasurementError("torch's profiler kept no results", remedy="Measure with source='events'.")
        return device_records(results.events(), self._backend.device_type)


def can_detach() -> bool:
    import torch

    if os.environ.get(TEARDOWN) == "0":  # the user has forbidden it
        return False
    version = torch.version.cuda
    return version is not None and tuple(int(part) for part in version.split(".")[:2]) >= FIRST_CUDA_TO_DETACH


@contextlib.contextmanager
def environment_restored(name: str) -> Iterator[None]:
    before = os.environ.get(name)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


def device_records(events: Any, device_type: str) -> list[KernelRecord]:
    """Return the device's own records among the profiler's events, by start; spans that only annotate are left out."""
    records = []
    for event in events:
        if event.device_type().name.lower() != device_type or _annotates(event):
            continue
        records.append(KernelRecord(event.name(), event.start_ns(), event.duration_ns(), event.device_resource_id()))
    return sorted(records, key=lambda record: record.start_nanoseconds)


def _annotates(event: Any) -> bool:
    is_annotation = getattr(event, "is_user_annotation", None)
    return bool(is_annotation()) if is_annotation is not None else False


def profiler_supports(backend: Backend) -> bool:
    import torch.profiler as torch_profiler

    activity = getattr(torch_profiler.ProfilerActivity, backend.activity, None)
    return activity is not None and activity in torch_profiler.supported_activities()
