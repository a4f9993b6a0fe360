"""Blocks of runs to seconds of device time: by marks in the queue (events) or by the profiler's kernel times.

Both hide the launch: the device is held until a block is queued whole, so that what it then does is not a picture of
how fast the host can launch. Cold blocks flush the cache before each run and leave the flush out of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from photometer.errors import MeasurementError
from photometer.instruments.device.accelerator import Accelerator, KernelRecord, RunBlock
from photometer.instruments.device.kernel_times import busy_seconds, split_at_markers
from photometer.model.device_clocks import ClockReading
from photometer.model.device_mode import Source

# The hold is so many times as long as queueing took before, for the next time may be slower; and never shorter than
# starting it takes.
HOLD_MARGIN = 1.5
SHORTEST_HOLD_SECONDS = 50e-6
# A hold of this length is long enough for anything that fits the device's queue (about 1,000 launches of 10 to 100 us).
LONGEST_HOLD_SECONDS = 0.2
# With a profiler attached a launch costs the host more: 11.3 us against 6.3 us on an H200 machine.
PROFILED_HOST_FACTOR = 2.0
# Flushing before each run adds two waits and a launch to what the host queues; with 20 us a run they fit.
FLUSH_HOST_SECONDS = 20e-6


@dataclass(frozen=True)
class BlockRequest:
    """`runs` runs of a statement that takes the host `host_seconds_per_run` to queue."""

    run: RunBlock
    runs: int
    host_seconds_per_run: float
    cold: bool = False

    def hold_seconds(self, host_factor: float = 1.0) -> float:
        host = self.host_seconds_per_run * host_factor + (FLUSH_HOST_SECONDS if self.cold else 0.0)
        wanted = HOLD_MARGIN * self.runs * host + SHORTEST_HOLD_SECONDS
        return min(wanted, LONGEST_HOLD_SECONDS)


@dataclass(frozen=True)
class BlockSample:
    """`launch_hidden`: the device had not begun when the last run was queued."""

    seconds_per_run: float
    launch_hidden: bool
    clocks: ClockReading | None


class Sampler(Protocol):
    source: Source

    def sample(self, requests: Sequence[BlockRequest]) -> list[BlockSample]:
        """One sample for each request, in their order."""


class EventSampler:
    """Device time between two marks. Between kernels it counts the device's own gaps (1.0 to 1.3 us on an H200)."""

    source = Source.EVENTS

    def __init__(self, accelerator: Accelerator) -> None:
        self._accelerator = accelerator

    def sample(self, requests: Sequence[BlockRequest]) -> list[BlockSample]:
        return [self._cold(request) if request.cold else self._hot(request) for request in requests]

    def _hot(self, request: BlockRequest) -> BlockSample:
        queue = self._accelerator.queue
        queue.synchronize()
        queue.hold(request.hold_seconds())
        start = queue.mark()
        request.run(request.runs)
        end = queue.mark()
        hidden = not queue.has_passed(start)
        clocks = read_clocks(self._accelerator)
        queue.synchronize()
        return BlockSample(queue.seconds_between(start, end) / request.runs, hidden, clocks)

    def _cold(self, request: BlockRequest) -> BlockSample:
        queue = self._accelerator.queue
        queue.synchronize()
        queue.hold(request.hold_seconds())
        pairs = []
        for _ in range(request.runs):
            queue.flush_cache()
            start = queue.mark()
            request.run(1)
            pairs.append((start, queue.mark()))
        hidden = not queue.has_passed(pairs[0][0])
        clocks = read_clocks(self._accelerator)
        queue.synchronize()
        seconds = sum(queue.seconds_between(start, end) for start, end in pairs)
        return BlockSample(seconds / request.runs, hidden, clocks)


class ProfilerSampler:
    """Device time as the kernels' own durations. Gaps between kernels are not in it, nor is any launch."""

    source = Source.PROFILER

    def __init__(self, accelerator: Accelerator) -> None:
        self._accelerator = accelerator
        # What the statements ran in the last session: a group of records for each request.
        self.last_records: list[list[KernelRecord]] = []

    def sample(self, requests: Sequence[BlockRequest]) -> list[BlockSample]:
        profiler, queue = self._accelerator.profiler, self._accelerator.queue
        if profiler is None:
            raise MeasurementError(self._accelerator.why_missing("profiler"), remedy="Measure with source='events'.")
        clocks: list[ClockReading | None] = []

        def body() -> None:
            for request in requests:
                queue.hold(request.hold_seconds(PROFILED_HOST_FACTOR))
                if request.cold:
                    for _ in range(request.runs):
                        queue.flush_cache()
                        request.run(1)
                else:
                    request.run(request.runs)
                clocks.append(read_clocks(self._accelerator))
                queue.synchronize()

        groups = split_at_markers(profiler.record(body))
        # The session's own marker, then a hold for each block and, in cold ones, a flush for each run.
        expected = 1 + sum(1 + (request.runs if request.cold else 0) for request in requests)
        if len(groups) != expected:
            raise MeasurementError(
                f"the profiler kept {len(groups)} of {expected} of photometer's own markers",
                remedy="It loses records when its buffers overflow: measure with source='events'.",
            )
        samples, place = [], 1
        self.last_records = []
        for request, reading in zip(requests, clocks, strict=True):
            mine = groups[place : place + 1 + (request.runs if request.cold else 0)]
            place += len(mine)
            # A hot block is one group, in which kernels of neighbouring runs may overlap; cold runs stand apart.
            seconds = sum(busy_seconds(group) for group in mine)
            samples.append(BlockSample(seconds / request.runs, True, reading))
            self.last_records.append([record for group in mine for record in group])
        return samples


def read_clocks(accelerator: Accelerator) -> ClockReading | None:
    return accelerator.clocks.read() if accelerator.clocks is not None else None
