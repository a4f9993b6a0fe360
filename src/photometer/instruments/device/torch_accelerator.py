"""A real accelerator through torch, as far as its module of torch supports it; missing features are named.

Kernel times come from torch's profiler: a body of device work in, every kernel's own start and duration out. Our own
work runs on a separate stream, so that the profiler can distinguish it from the statement's.
"""

from __future__ import annotations

import contextlib
import functools
import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from photometer.errors import DeviceMissing, MeasurementError, ToolMissing
from photometer.instruments.device.accelerator import Accelerator, ClockReader, KernelRecord, MemoryReading
from photometer.instruments.device.nvml import open_nvml
from photometer.worker.accelerators import NVML, Backend, NoDevice, TorchDevice, open_device
from photometer.worker.device_blocks import CALIBRATION_CYCLES, RUNS_BEFORE_CAPTURE

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


# Writing a buffer this many times larger than the cache displaces everything, whatever the replacement policy (triton's
# do_bench uses 256 MB for any card, which is four times an H200's 60 MB).
CACHE_MULTIPLE = 4
# Used if torch does not report the size of the cache.
FALLBACK_CACHE_BYTES = 64 * 2**20


def open_accelerator(device: str | None = None) -> Accelerator:
    """Open and return the accelerator of this process ("cuda", "cuda:1"; by default the current one)."""
    import torch

    if device is not None and device.split(":")[0] == "cpu":
        raise DeviceMissing("the CPU is not an accelerator", remedy="Use Timer.blocked_autorange for CPU time.")
    try:
        opened = open_device(torch, device or "")
    except NoDevice as error:
        raise DeviceMissing(
            str(error), remedy="Run on a machine with one, with a torch built for it; CPU time needs no accelerator."
        ) from error
    for part in ("synchronize", "events"):
        if (why := opened.why_missing(part)) is not None:
            raise DeviceMissing(why, remedy="Measure wall time, which waits for the device if it can.")
    return _assemble(opened.backend, opened.module, opened.index)


@functools.lru_cache(maxsize=16)
def _assemble(backend: Backend, module: Any, index: int) -> Accelerator:
    """Assemble the parts, once per device: the spin's rate and the peaks are measured once per process."""
    device = TorchDevice(backend, module)
    properties = device.properties
    cache_bytes = getattr(properties, "L2_cache_size", None) or None
    queue = TorchQueue(device, cache_bytes)
    missing = {"clocks": _why_no_clocks(backend, properties), "profiler": _why_no_profiler(device)}
    missing |= {"graphs": device.why_missing("graphs") or device.why_missing("streams")}
    missing |= {"memory": device.why_missing("memory")}
    clocks: ClockReader | None = None
    if missing["clocks"] is None:
        try:
            clocks = open_nvml(str(properties.uuid))
        except ToolMissing as error:
            missing["clocks"] = str(error)
    return Accelerator(
        name=device.name,
        kind=device.kind,
        cache_bytes=cache_bytes,
        queue=queue,
        profiler=None if missing["profiler"] else TorchProfiler(backend, queue.synchronize, queue.queue_marker),
        graphs=None if missing["graphs"] else TorchGraphs(device),
        memory=None if missing["memory"] else TorchMemory(module),
        clocks=clocks,
        missing=tuple((part, why) for part, why in missing.items() if why is not None),
    )


def _why_no_clocks(backend: Backend, properties: Any) -> str | None:
    if backend.sensors != NVML:
        return f"nothing here reads the clocks of {backend.kind} devices"
    return None if hasattr(properties, "uuid") else f"torch.{backend.kind} does not report the device's UUID"


def _why_no_profiler(device: TorchDevice) -> str | None:
    if not profiler_supports(device.backend):
        return f"this torch's profiler does not record {device.kind} devices"
    # It tells our own work from the statement's by its stream.
    return device.why_missing("streams")


class TorchQueue:
    """A WorkQueue on torch's current stream, with a second stream for our own work if the device has streams."""

    def __init__(self, device: TorchDevice, cache_bytes: int | None) -> None:
        import torch

        self._device, self._module = device, device.module
        self._stream = device.module.Stream(priority=-1) if device.why_missing("streams") is None else None
        self._buffer: Any = None
        self._buffer_bytes = CACHE_MULTIPLE * (cache_bytes or FALLBACK_CACHE_BYTES)
        self._torch = torch
        self._spin = device.spin
        self._cycles_per_second = self._calibrate() if self._spin is not None else 0.0

    def _calibrate(self) -> float:
        """Return a spin's cycles per second, from the second of two spins: during the first the clock is still low."""
        assert self._spin is not None
        seconds = 0.0
        for _ in range(2):
            start, end = self.mark(), None
            self._spin(CALIBRATION_CYCLES)
            end = self.mark()
            self.synchronize()
            seconds = self.seconds_between(start, end)
        return CALIBRATION_CYCLES / max(seconds, 1e-9)

    def synchronize(self) -> None:
        self._device.synchronize()

    def mark(self) -> Any:
        event = self._device.event()
        event.record()
        return event

    def seconds_between(self, start: Any, end: Any) -> float:
        return float(start.elapsed_time(end)) / 1e3

    def has_passed(self, mark: Any) -> bool:
        return bool(mark.query())

    def wait_for(self, mark: Any) -> None:
        mark.synchronize()

    def hold(self, seconds: float) -> None:
        if self._spin is None:
            # No spin on this backend: filling the large buffer is the marker, and hides little.
            self.flush_cache()
            return
        spin, cycles = self._spin, int(seconds * self._cycles_per_second)
        self._ahead(lambda: spin(max(cycles, 1)))

    def flush_cache(self) -> None:
        """Write the buffer instead of reading it: its lines are then dirty, as after other work of a program."""
        if self._buffer is None:
            self._allocate()
        self._ahead(self._buffer.zero_)

    def release(self) -> None:
        self._buffer = None

    def queue_marker(self) -> None:
        self.hold(0.0)

    def _ahead(self, queue_work: Callable[[], object]) -> None:
        """Queue our own work after the work that is queued already, and before the next."""
        if self._stream is None:
            queue_work()
            return
        current = self._module.current_stream()
        self._stream.wait_stream(current)
        with self._module.stream(self._stream):
            queue_work()
        current.wait_stream(self._stream)

    def _allocate(self) -> None:
        try:
            self._buffer = self._torch.empty(self._buffer_bytes, dtype=self._torch.int8, device=self._device.kind)
        except RuntimeError as error:
            raise MeasurementError(
                f"the device has no {self._buffer_bytes / 2**20:.0f} MiB free to flush the cache: {error}",
                remedy="Free memory on the device, or measure without the cold mode.",
            ) from error


class TorchGraphs:
    def __init__(self, device: TorchDevice) -> None:
        self._device, self._module = device, device.module

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        module = self._module
        side = module.Stream()
        side.wait_stream(module.current_stream())
        with module.stream(side):
            yield
        module.current_stream().wait_stream(side)

    def capture(self, run: Callable[[], object]) -> Callable[[], None]:
        module = self._module
        for _ in range(RUNS_BEFORE_CAPTURE):
            run()
        module.synchronize()
        graph = self._device.new_graph()
        # On the same stream as the runs before: autograd ties a leaf's gradient to the stream that first used it.
        with module.graph(graph, stream=module.current_stream()):
            run()
        replay: Callable[[], None] = graph.replay
        return replay


class TorchMemory:
    def __init__(self, module: Any) -> None:
        self._module = module

    def read(self) -> MemoryReading:
        module = self._module
        return MemoryReading(module.memory_allocated(), module.memory_reserved(), module.max_memory_allocated())

    def reset_peak(self) -> None:
        self._module.reset_peak_memory_stats()
