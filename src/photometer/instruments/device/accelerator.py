"""What photometer asks of an accelerator, in small parts: a queue of work with marks in it, a profiler, graphs, memory,
sensors. The real parts are in torch_accelerator and its neighbours; a fake with a clock of its own drives the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from photometer.model.device_mode import ClockReading

# Runs the statement n times without waiting for the device; answers the host's seconds.
RunBlock = Callable[[int], float]


class WorkQueue(Protocol):
    """The order of work on the device. `hold` and `flush_cache` queue work of ours ahead of what comes next.

    Ours runs on a stream of its own that the statement's stream waits for, so that the profiler can tell them apart.
    """

    def synchronize(self) -> None: ...

    def mark(self) -> Any:
        """A point between two pieces of work, whose time can be read once the device has passed it."""

    def seconds_between(self, start: Any, end: Any) -> float: ...

    def has_passed(self, mark: Any) -> bool: ...

    def wait_for(self, mark: Any) -> None:
        """Let the host wait until the device has passed the mark."""

    def hold(self, seconds: float) -> None:
        """Keep the device from starting what is queued next for about so long: one record of the profiler's."""

    def flush_cache(self) -> None:
        """Drive what the statement has used out of the device's cache: one record of the profiler's."""

    def release(self) -> None:
        """Give back the memory that flushing takes."""


@dataclass(frozen=True)
class KernelRecord:
    """One piece of device work as the profiler saw it."""

    name: str
    start_nanoseconds: int
    duration_nanoseconds: int
    stream: int

    @property
    def end_nanoseconds(self) -> int:
        return self.start_nanoseconds + self.duration_nanoseconds


class KernelProfiler(Protocol):
    def attached(self) -> bool:
        """Whether an earlier session of ours is still attached to the process: launches then cost the host more."""

    def detach(self) -> None:
        """Let go of the process, where that can be done."""

    def record(self, body: Callable[[], None]) -> Sequence[KernelRecord]:
        """All device work of `body`, by start. The first record is a marker of ours, on our own stream."""


class GraphCapture(Protocol):
    def aside(self) -> AbstractContextManager[None]:
        """Make a side stream the current one: no capture is made on the default one, or of work tied to it."""

    def capture(self, run: Callable[[], object]) -> Callable[[], None]:
        """Warm up and capture one run; the answer replays it. What stands against it is raised."""


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
    """A device and what it can do. A part that is missing is None; `missing` says why, by the part's name."""

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
