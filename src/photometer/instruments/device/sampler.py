"""Device time of blocks of runs: by marks in the queue (events) or by the profiler's kernel times.

Both hide the launch: the device is held until the whole block is queued, so that its time does not depend on how fast
the host launches. If the device is the slower side, blocks follow each other without a pause instead: a large matrix
product runs at the power cap, and 5 % faster after each pause. Cold blocks flush the cache before each run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from photometer.errors import MeasurementError
from photometer.instruments.device.accelerator import Accelerator, KernelRecord, RunBlock
from photometer.model.device_measurement import ClockReading, KernelTime, Source
from photometer.worker.device_blocks import HOLD_MARGIN, SHORTEST_HOLD_SECONDS

# A hold of this length is long enough for anything that fits the device's queue (about 1,000 launches of 10 to 100 us).
LONGEST_HOLD_SECONDS = 0.2
# With a profiler attached a launch costs the host more: 11.3 us against 6.3 us on an H200 machine.
PROFILED_HOST_FACTOR = 2.0
# Blocks queued at a time if the device is the slower side: it is never idle, and sensors are read near the block.
BLOCKS_IN_FLIGHT = 2
# Flushing before each run adds two waits and a launch to what the host queues; 20 us per run is enough.
FLUSH_HOST_SECONDS = 20e-6


@dataclass(frozen=True)
class BlockRequest:
    """`runs` runs of a statement that takes the host `host_seconds_per_run` to queue."""

    run: RunBlock
    runs: int
    host_seconds_per_run: float
    cold: bool = False
    # The device takes longer than the host: its work hides the launches, and holding it would only let it cool.
    device_slower: bool = False

    def hold_seconds(self, host_factor: float = 1.0) -> float:
        host = self.host_seconds_per_run * host_factor + (FLUSH_HOST_SECONDS if self.cold else 0.0)
        wanted = HOLD_MARGIN * self.runs * host + SHORTEST_HOLD_SECONDS
        return min(wanted, LONGEST_HOLD_SECONDS)


@dataclass(frozen=True)
class BlockSample:
    """`launch_hidden`: the device had not started when the last run was queued."""

    seconds_per_run: float
    launch_hidden: bool
    clocks: ClockReading | None


def keep_flowing(requests: Sequence[BlockRequest]) -> bool:
    """Return whether blocks may follow each other without a pause, as in a program that keeps the device busy."""
    return all(request.device_slower for request in requests)


class Sampler(Protocol):
    source: Source

    def sample(self, requests: Sequence[BlockRequest]) -> list[BlockSample]:
        """Return one sample per request, in their order."""


class EventSampler:
    """Device time between two marks. It includes the device's gaps between kernels (1.0 to 1.3 us on an H200)."""

    source = Source.EVENTS

    def __init__(self, accelerator: Accelerator) -> None:
        self._accelerator = accelerator

    def sample(self, requests: Sequence[BlockRequest]) -> list[BlockSample]:
        queue, flowing = self._accelerator.queue, keep_flowing(requests)
        queue.synchronize()
        blocks: list[list[tuple[Any, Any]]] = []
        hidden: list[bool] = []
        clocks: list[ClockReading | None] = []
        for request in requests:
            if not flowing or not blocks:
                queue.hold(request.hold_seconds())
            elif len(blocks) >= BLOCKS_IN_FLIGHT:
                queue.wait_for(blocks[-BLOCKS_IN_FLIGHT][-1][1])
            blocks.append(self._queue(request))
            hidden.append(flowing or not queue.has_passed(blocks[-1][0][0]))
            clocks.append(read_clocks(self._accelerator))
            if not flowing:
                queue.synchronize()
        queue.synchronize()
        seconds = [sum(queue.seconds_between(start, end) for start, end in pairs) for pairs in blocks]
        return [
            BlockSample(total / request.runs, was_hidden, reading)
            for total, request, was_hidden, reading in zip(seconds, requests, hidden, clocks, strict=True)
        ]

    def _queue(self, request: BlockRequest) -> list[tuple[Any, Any]]:
        """Queue a block and return its marks: one pair around all runs, or one around each cold run."""
        queue = self._accelerator.queue
        if not request.cold:
            start = queue.mark()
            request.run(request.runs)
            return [(start, queue.mark())]
        pairs = []
        for _ in range(request.runs):
            queue.flush_cache()
            start = queue.mark()
            request.run(1)
            pairs.append((start, queue.mark()))
        return pairs


class ProfilerSampler:
    """Device time as the kernels' own durations: without gaps between kernels, and without any launch."""

    source = Source.PROFILER

    def __init__(self, accelerator: Accelerator) -> None:
        self._accelerator = accelerator
        # The statements' kernels in the last session: one group of records per request.
        self.last_records: list[list[KernelRecord]] = []

    def sample(self, requests: Sequence[BlockRequest]) -> list[BlockSample]:
        profiler, queue = self._accelerator.profiler, self._accelerator.queue
        if profiler is None:
            raise MeasurementError(self._accelerator.why_missing("profiler"), remedy="Measure with source='events'.")
        clocks: list[ClockReading | None] = []
        flowing = keep_flowing(requests)

        def body() -> None:
            ends: list[Any] = []
            for request in requests:
                if flowing and len(ends) >= BLOCKS_IN_FLIGHT:
                    queue.wait_for(ends[-BLOCKS_IN_FLIGHT])
                # If blocks follow each other the hold is only a marker that separates them.
                queue.hold(0.0 if flowing and ends else request.hold_seconds(PROFILED_HOST_FACTOR))
                if request.cold:
                    for _ in range(request.runs):
                        queue.flush_cache()
                        request.run(1)
                else:
                    request.run(request.runs)
                ends.append(queue.mark())
                clocks.append(read_clocks(self._accelerator))
                if not flowing:
                    queue.synchronize()

        groups = split_at_markers(profiler.record(body))
        # The session's own marker, then one hold per block and, in cold ones, one flush per run.
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
            # A hot block is one group, and kernels of neighbouring runs may overlap in it; each cold run is a group.
            seconds = sum(busy_seconds(group) for group in mine)
            samples.append(BlockSample(seconds / request.runs, True, reading))
            self.last_records.append([record for group in mine for record in group])
        return samples


def read_clocks(accelerator: Accelerator) -> ClockReading | None:
    return accelerator.clocks.read() if accelerator.clocks is not None else None


def split_at_markers(records: Sequence[KernelRecord]) -> list[list[KernelRecord]]:
    """Return the statement's records between one marker and the next: one group per marker, in the queue's order.

    The first record must be a marker on our own stream. Work on that stream is ours (holds and cache flushes) and
    separates the statement's work. What the statement queues after a marker starts after it, on any stream, because
    its stream waits for ours.
    """
    if not records:
        raise MeasurementError(
            "the profiler saw no device work, not even photometer's own marker",
            remedy="End other profilers in this process, or measure with source='events'.",
        )
    ours = records[0].stream
    groups: list[list[KernelRecord]] = []
    for record in records:
        if record.stream == ours:
            groups.append([])
        else:
            groups[-1].append(record)
    return groups


def busy_seconds(records: Sequence[KernelRecord]) -> float:
    """Return how long at least one of the records was running: kernels in parallel on several streams count once."""
    busy, end = 0, None
    for record in sorted(records, key=lambda record: record.start_nanoseconds):
        if end is None or record.start_nanoseconds >= end:
            busy += record.duration_nanoseconds
            end = record.end_nanoseconds
        elif record.end_nanoseconds > end:
            busy += record.end_nanoseconds - end
            end = record.end_nanoseconds
    return busy / 1e9


def kernel_table(records: Sequence[KernelRecord], runs: int) -> tuple[KernelTime, ...]:
    """Return the statement's kernels by name, the longest first."""
    calls: dict[str, int] = {}
    nanoseconds: dict[str, int] = {}
    for record in records:
        calls[record.name] = calls.get(record.name, 0) + 1
        nanoseconds[record.name] = nanoseconds.get(record.name, 0) + record.duration_nanoseconds
    table = [KernelTime(name, calls[name] / runs, nanoseconds[name] / runs / 1e9) for name in calls]
    return tuple(sorted(table, key=lambda kernel: -kernel.seconds_per_run))
