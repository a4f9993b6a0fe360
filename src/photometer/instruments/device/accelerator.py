"""What photometer needs from an accelerator, as small protocols: a queue of work, a profiler, graphs, memory, sensors.

The real parts are in torch_accelerator, torch_profiler and nvml; tests use a fake with its own clock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from photometer.model.device_measurement import ClockReading

# Runs the statement n times without waiting for the device; returns the host's seconds.
RunBlock = Callable[[int], float]


class WorkQueue(Protocol):
    """The order of work on the device. `hold` and `flush_cache` queue our own work before what comes next.

    It runs on a separate stream that the statement's stream waits for, so that the profiler can tell them apart.
    """

    def synchronize(self) -> None: ...

    def mark(self) -> Any:
        """Return a point between two pieces of work; its time can be read once the device has passed it."""

    def seconds_between(self, start: Any, end: Any) -> float: ...

    def has_passed(self, mark: Any) -> bool: ...

    def wait_for(self, mark: Any) -> None:
        """Make the host wait until the device has passed the mark."""

    def hold(self, seconds: float) -> None:
        """Keep the device from starting what is queued next for about this long. Makes one record in the profiler."""

    def flush_cache(self) -> None:
        """Remove the statement's data from the device's cache. Makes one record in the profiler."""

    def release(self) -> None:
        """Free the memory that flushing uses."""


@dataclass(frozen=True)
class KernelRecord:
    """One piece of device work in the profiler's records."""

    name: str
    start_nanoseconds: int
    duration_nanoseconds: int
    stream: int

    @property
    def end_nanoseconds(self) -> int:
        return self.start_nanoseconds + self.duration_nanoseconds


class KernelProfiler(Protocol):
    def attached(self) -> bool:
        """Return whether one of our earlier sessions is still attached to the process, which makes launches slower."""

    def detach(self) -> None:
        """Detach from the process, if that is possible."""

    def record(self, body: Callable[[], None]) -> Sequence[KernelRecord]:
        """Return all device work of `body`, by start. The first record is our own marker, on our own stream."""


class GraphCapture(Protocol):
    def aside(self) -> AbstractContextManager[None]:
        """Make a side stream the current one: the default stream, and work tied to it, cannot be captured."""

    def capture(self, run: Callable[[], object]) -> Callable[[], None]:
        """Warm up and capture one run; return a function that replays it. Raise if it cannot be captured."""


@dataclass(frozen=True)
class MemoryReading:
    allocated_bytes: int
    reserved_bytes: int
    peak_bytes: int


class MemoryMeter(Protocol):
    def read(self) -> MemoryReading: ...

    def reset_peak(self) -> None: ...


class ClockReader(Protocol):
    def read(self) -> ClockReading: ...


@dataclass(frozen=True)
class Accelerator:
    """A device and its parts. A missing part is None; `missing` has the reason by the part's name."""

    name: str
    kind: str
    cache_bytes: int | None
    queue: WorkQueue
    profiler: KernelProfiler | None
    graphs: GraphCapture | None
    memory: MemoryMeter | None
    clocks: ClockReader | None
    missing: tuple[tuple[str, str], ...] = ()

    def why_missing(self, part: str) -> str:
        return dict(self.missing).get(part, f"{self.kind} has no {part}")
