"""From a record of a results file to the points of curves: which metrics it holds, each a value with an interval.

In: a record as a plain mapping, which anyone may have written. Out: Points; none of what cannot be understood.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from photometer.history.nouns import Metric

# What a statement takes when it is not disturbed: on one machine the medians of two runs agreed within 2 % for 50 of
# 168 benchmarks, this quantile for 106.
UNDISTURBED_QUANTILE = 0.1

TIME = Metric("time", "s", is_exact=False)
UNDISTURBED = Metric("undisturbed_time", "s", is_exact=False)
INSTRUCTIONS = Metric("instructions", "instructions", is_exact=True)
ALL_INSTRUCTIONS = Metric("all_instructions", "instructions", is_exact=True)
ALLOCATOR_CALLS = Metric("allocator_calls", "calls", is_exact=True)
PEAK_MEMORY = Metric("peak_memory", "bytes", is_exact=True)
DEVICE_PEAK_MEMORY = Metric("device_peak_memory", "bytes", is_exact=True)
# Where to look for a change of the work, of the time, of memory.
MAIN_METRICS = {"instructions": INSTRUCTIONS, "time": UNDISTURBED, "memory": PEAK_MEMORY}


@dataclasses.dataclass(frozen=True)
class Point:
    metric: Metric
    value: float
    low: float
    high: float


def points_of(record: Mapping[str, Any]) -> tuple[Point, ...]:
    """Return what a record adds to curves."""
    read = _READERS.get(str(record.get("kind")))
    if read is None:
        return ()
    try:
        found = tuple(read(record))
    except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError, AttributeError, IndexError):
        return ()
    return tuple(point for point in found if all(map(math.isfinite, (point.value, point.low, point.high))))


def _of_measurement(record: Mapping[str, Any]) -> Iterator[Point]:
    number = record["number_per_run"]
    times = sorted(float(seconds) / number for seconds in record["raw_times"])
    if times:
        # Ranks of the binomial distribution: an interval of 95 % for a quantile, whatever the distribution.
        yield Point(TIME, _at(times, 0.5), *_interval(times, 0.5))
        yield Point(UNDISTURBED, _at(times, UNDISTURBED_QUANTILE), *_interval(times, UNDISTURBED_QUANTILE))
    yield from _of_metadata(record.get("metadata"))


def _of_counts(record: Mapping[str, Any]) -> Iterator[Point]:
    number = record["number_per_run"]
    repeats, baseline = record["repeats"], record.get("loop_baseline") or {}
    fields = (("outside_allocator", INSTRUCTIONS), ("total", ALL_INSTRUCTIONS), ("allocator_calls", ALLOCATOR_CALLS))
    for field, metric in fields:
        values = [(int(repeat[field]) - int(baseline.get(field, 0))) / number for repeat in repeats]
        # The value that most repeats have, the last of those: as InstructionCounts.stable.
        stable = max(range(len(values)), key=lambda index: (values.count(values[index]), index))
        yield Point(metric, values[stable], min(values), max(values))


def _of_device(record: Mapping[str, Any]) -> Iterator[Point]:
    for mode in record["modes"]:
        seconds = mode.get("seconds_per_run") or ()
        times = sorted(float(each) for each in seconds)
        if times:
            # "device hot", "graph replay", …: device_hot, device_graph_replay.
            name = "device_" + str(mode["name"]).removeprefix("device ").replace(" ", "_")
            yield Point(Metric(name, "s", is_exact=False), _at(times, 0.5), *_interval(times, 0.5))
    if record.get("memory"):
        peak = float(record["memory"]["peak_bytes"])
        yield Point(DEVICE_PEAK_MEMORY, peak, peak, peak)


def _of_metadata(metadata: Any) -> Iterator[Point]:
    compile_seconds = metadata.get("compile_seconds") if isinstance(metadata, Mapping) else None
    if isinstance(compile_seconds, float | int):
        yield Point(Metric("compile_time", "s", is_exact=False), *(float(compile_seconds),) * 3)


_READERS: dict[str, Callable[[Mapping[str, Any]], Iterator[Point]]] = {
    "measurement": _of_measurement,
    "instruction_counts": _of_counts,
    "device_measurement": _of_device,
}


def _at(ordered: list[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _interval(ordered: list[float], share: float) -> tuple[float, float]:
    count = len(ordered)
    half = 1.96 * math.sqrt(count * share * (1.0 - share))
    low = max(math.floor(count * share - half), 0)
    high = min(math.ceil(count * share + half), count - 1)
    return ordered[low], ordered[high]
