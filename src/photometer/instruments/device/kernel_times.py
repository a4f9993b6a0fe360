"""The profiler's records to times of blocks and runs. Pure.

In: records by start, the first of them a marker on the harness's own stream. Work on that stream is ours (holds and
cache flushes) and parts the statement's work into groups. Out: what the statement kept the device busy for.
"""

from __future__ import annotations

from collections.abc import Sequence

from photometer.errors import MeasurementError
from photometer.instruments.device.accelerator import KernelRecord
from photometer.model.device_measurement import KernelTime


def split_at_markers(records: Sequence[KernelRecord]) -> list[list[KernelRecord]]:
    """The statement's records between one marker and the next: a group for each marker, in the order of the queue.

    What the statement queued after a marker starts after it, on whatever stream, for its stream waits for ours.
    """
    if not records:
        raise MeasurementError(
            "the profiler saw no device work at all, not even photometer's own marker",
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
    """How long at least one of the records was running: kernels side by side on several streams count once."""
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
    """The statement's kernels by name, the longest first."""
    calls: dict[str, int] = {}
    nanoseconds: dict[str, int] = {}
    for record in records:
        calls[record.name] = calls.get(record.name, 0) + 1
        nanoseconds[record.name] = nanoseconds.get(record.name, 0) + record.duration_nanoseconds
    table = [KernelTime(name, calls[name] / runs, nanoseconds[name] / runs / 1e9) for name in calls]
    return tuple(sorted(table, key=lambda kernel: -kernel.seconds_per_run))
