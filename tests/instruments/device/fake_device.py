"""An accelerator that exists only on a clock of its own: a host that launches, a queue, a device that works it off.

Time passes where something happens: launching costs the host, kernels cost the device, waiting brings the two together.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from photometer.instruments.device.accelerator import Accelerator, KernelRecord, MemoryReading
from photometer.instruments.device.statement import Statement
from photometer.model.device_measurement import ClockReading

LAUNCH_SECONDS = 5e-6
PROFILED_LAUNCH_SECONDS = 9e-6
REPLAY_SECONDS = 3e-6
GAP_SECONDS = 1e-6
FLUSH_SECONDS = 75e-6
QUEUE_LENGTH = 1022
OUR_STREAM, THEIR_STREAM = 13, 7


@dataclass(frozen=True)
class FakeKernel:
    name: str = "kernel"
    hot_seconds: float = 1e-6
    cold_seconds: float = 1.5e-6
    stream: int = THEIR_STREAM


@dataclass
class FakeDevice:
    """Implements every part of an Accelerator at once; `accelerator` puts them together."""

    now: float = 0.0
    device_free: float = 0.0
    cache_hot: bool = False
    recording: list[KernelRecord] | None = None
    capturing: list[FakeKernel] | None = None
    is_attached: bool = False
    sessions: int = 0
    loses_markers: bool = False
    capture_error: Exception | None = None
    reserved: int = 2**20
    allocated: int = 2**20
    peak: int = 2**20
    reading: Callable[[float], ClockReading] = lambda _: ClockReading(1980, 3201, 40, 120.0)
    noise: Callable[[], float] = lambda: 1.0
    released: bool = False
    _ends: list[float] = field(default_factory=list)

    def accelerator(self, **changes: Any) -> Accelerator:
        parts: dict[str, Any] = {
            "name": "Fake 9000",
            "kind": "cuda",
            "cache_bytes": 2**20,
            "queue": self,
            "profiler": FakeProfiler(self),
            "graphs": FakeGraphs(self),
            "memory": FakeMemory(self),
            "clocks": FakeClocks(self),
        }
        return Accelerator(**{**parts, **changes})

    def clock(self) -> float:
        self.now += 2e-8
        return self.now

    def launch(self, kernel: FakeKernel) -> None:
        if self.capturing is not None:
            self.capturing.append(kernel)
            return
        self.now += PROFILED_LAUNCH_SECONDS if self.is_attached else LAUNCH_SECONDS
        if len(self._ends) >= QUEUE_LENGTH:
            self.now = max(self.now, self._ends[-QUEUE_LENGTH])
        self.work(kernel)

    def work(self, kernel: FakeKernel) -> None:
        seconds = (kernel.hot_seconds if self.cache_hot else kernel.cold_seconds) * self.noise()
        self._enqueue(kernel.name, seconds, kernel.stream, GAP_SECONDS)
        self.cache_hot = True

    def _enqueue(self, name: str, seconds: float, stream: int, gap: float) -> None:
        start = max(self.device_free + gap, self.now)
        self.device_free = start + seconds
        self._ends.append(self.device_free)
        if self.recording is not None:
            self.recording.append(KernelRecord(name, round(start * 1e9), round(seconds * 1e9), stream))

    # The queue.

    def synchronize(self) -> None:
        self.now = max(self.now, self.device_free) + 1e-6

    def mark(self) -> float:
        self.now += 5e-7
        return max(self.device_free, self.now)

    def seconds_between(self, start: float, end: float) -> float:
        assert self.now >= end, "a mark is read before the device has passed it"
        return end - start

    def has_passed(self, mark: float) -> bool:
        return self.now >= mark

    def wait_for(self, mark: float) -> None:
        self.now = max(self.now, mark)

    def hold(self, seconds: float) -> None:
        self.now += 2e-6
        self._enqueue("spin", seconds, OUR_STREAM, 0.0)

    def flush_cache(self) -> None:
        self.now += 4e-6
        self._enqueue("fill", FLUSH_SECONDS, OUR_STREAM, 0.0)
        self.cache_hot = False

    def release(self) -> None:
        self.released = True


@dataclass
class FakeProfiler:
    device: FakeDevice

    def attached(self) -> bool:
        return self.device.is_attached

    def detach(self) -> None:
        self.device.is_attached = False

    def record(self, body: Callable[[], None]) -> list[KernelRecord]:
        device = self.device
        device.is_attached, device.recording = True, []
        device.sessions += 1
        device.synchronize()
        device.hold(0.0)
        body()
        device.synchronize()
        records, device.recording = device.recording, None
        if device.loses_markers:
            records = [records[0], *(record for record in records[1:] if record.stream != OUR_STREAM)]
        return sorted(records, key=lambda record: record.start_nanoseconds)


@dataclass
class FakeGraphs:
    device: FakeDevice

    def aside(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def capture(self, run: Callable[[], object]) -> Callable[[], None]:
        run()
        if self.device.capture_error is not None:
            raise self.device.capture_error
        self.device.capturing = []
        run()
        kernels, self.device.capturing = self.device.capturing, None

        def replay() -> None:
            self.device.now += REPLAY_SECONDS
            for kernel in kernels:
                self.device.work(kernel)

        return replay


@dataclass
class FakeMemory:
    device: FakeDevice

    def read(self) -> MemoryReading:
        return MemoryReading(self.device.allocated, self.device.reserved, self.device.peak)

    def reset_peak(self) -> None:
        self.device.peak = self.device.allocated


@dataclass
class FakeClocks:
    device: FakeDevice

    def read(self) -> ClockReading:
        return self.device.reading(self.device.now)


@dataclass
class FakeStatement:
    """A statement of some kernels; `waits` synchronises at its end, `python_seconds` is the host's own work."""

    device: FakeDevice
    kernels: tuple[FakeKernel, ...] = (FakeKernel(),)
    waits: bool = False
    python_seconds: float = 0.0
    first_call_seconds: float = 0.0
    grows_bytes: int = 0
    temporary_bytes: int = 0
    names: Mapping[str, Any] = field(default_factory=dict)
    runs: int = 0

    def __call__(self, runs: int) -> float:
        start = self.device.now
        for _ in range(runs):
            if self.runs == 0:
                self.device.now += self.first_call_seconds
            self.runs += 1
            self.device.now += self.python_seconds
            for kernel in self.kernels:
                self.device.launch(kernel)
            self.device.reserved += self.grows_bytes
            self.device.peak = max(self.device.peak, self.device.allocated + self.temporary_bytes)
            if self.waits:
                self.device.synchronize()
        return self.device.now - start

    @contextlib.contextmanager
    def open(self) -> Iterator[Statement]:
        yield Statement(self, lambda: self.names)
