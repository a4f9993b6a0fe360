"""From a record of a results file to the points of curves: which metrics it holds, each a value with an interval.

In: a record as a plain mapping, which anyone may have written. Out: Points; a part that cannot be understood gives
none.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from photometer.analysis.declared_figures import values_of
from photometer.errors import ResultsFileError
from photometer.history.nouns import ComparedFigure, Metric
from photometer.instruments.registry import BY_KIND
from photometer.model.records import from_record

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
# Fields of a run's memory, and the metrics they are.
MEMORY_FIELDS = (("peak_bytes", "peak_memory"), ("allocated_bytes", "allocated_memory"), ("allocations", "allocations"))
# A record may say anything.
_NOT_UNDERSTOOD = (
    ResultsFileError,
    KeyError,
    TypeError,
    ValueError,
    ZeroDivisionError,
    OverflowError,
    AttributeError,
    IndexError,
)


@dataclasses.dataclass(frozen=True)
class Point:
    metric: Metric
    value: float
    low: float
    high: float


def points_of(record: Mapping[str, Any]) -> tuple[Point, ...]:
    """Return the points that a record adds to curves."""
    read = _READERS.get(str(record.get("kind")), _of_declared)
    try:
        found = tuple(read(record))
    except _NOT_UNDERSTOOD:
        return ()
    return tuple(point for point in found if all(map(math.isfinite, (point.value, point.low, point.high))))


def compared_figures(record: Mapping[str, Any]) -> tuple[ComparedFigure, ...]:
    """Return the counts and the memory of both sides that a comparison holds."""
    try:
        found = tuple(_compared(record))
    except (KeyError, TypeError, ValueError, AttributeError):
        return ()
    return tuple(each for each in found if math.isfinite(each.base) and math.isfinite(each.branch))


def _compared(record: Mapping[str, Any]) -> Iterator[ComparedFigure]:
    counts = record.get("instructions")
    if counts:
        yield ComparedFigure(INSTRUCTIONS.name, float(counts["base_per_run"]), float(counts["branch_per_run"]))
        calls = (float(counts[f"{side}_allocator_calls_per_run"]) for side in ("base", "branch"))
        yield ComparedFigure(ALLOCATOR_CALLS.name, *calls)
    for each in record.get("figures") or ():
        yield ComparedFigure(str(each["name"]), float(each["base"]), float(each["branch"]))
    memory = record.get("memory")
    if memory:
        prefix = "device_" if memory.get("device") else ""
        for field, name in MEMORY_FIELDS:
            yield ComparedFigure(prefix + name, float(memory["base"][field]), float(memory["branch"][field]))


def _of_measurement(record: Mapping[str, Any]) -> Iterator[Point]:
    number = record["number_per_run"]
    times = sorted([float(seconds) / number for seconds in record["raw_times"]])
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
        yield _most_frequent(metric, values)


def _of_device(record: Mapping[str, Any]) -> Iterator[Point]:
    for mode in record["modes"]:
        # "device hot", "graph replay", …: device_hot, device_graph_replay.
        name = "device_" + str(mode["name"]).removeprefix("device ").replace(" ", "_")
        yield from _of_samples(Metric(name, "s", is_exact=False), mode.get("seconds_per_run") or ())
    if record.get("memory"):
        peak = float(record["memory"]["peak_bytes"])
        yield Point(DEVICE_PEAK_MEMORY, peak, peak, peak)


def _of_metadata(metadata: Any) -> Iterator[Point]:
    compile_seconds = metadata.get("compile_seconds") if isinstance(metadata, Mapping) else None
    if isinstance(compile_seconds, float | int):
        yield Point(Metric("compile_time", "s", is_exact=False), *(float(compile_seconds),) * 3)


def _of_memory(record: Mapping[str, Any]) -> Iterator[Point]:
    for prefix, repeats in (("", record["repeats"]), ("device_", record.get("device_repeats") or ())):
        for field, name in MEMORY_FIELDS if repeats else ():
            unit = "allocations" if field == "allocations" else "bytes"
            values = [float(repeat[field]) for repeat in repeats]
            yield _most_frequent(Metric(prefix + name, unit, is_exact=True), values)


def _of_metrics(record: Mapping[str, Any]) -> Iterator[Point]:
    for each in record["metrics"]:
        yield from _of_samples(Metric(f"metric {each['name']}", "", is_exact=False), each["values"])


def _of_phases(record: Mapping[str, Any]) -> Iterator[Point]:
    for each in record["phases"]:
        yield from _of_samples(Metric(f"phase {each['name']}", "s", is_exact=False), each["seconds"])


def _of_energy(record: Mapping[str, Any]) -> Iterator[Point]:
    joules, unknown = float(record["joules_per_run"]), float(record["resolution_joules"])
    yield Point(Metric("energy", "J", is_exact=False), joules, max(joules - unknown, 0.0), joules + unknown)


def _of_compilation(record: Mapping[str, Any]) -> Iterator[Point]:
    for field, name in (("compile_seconds", "compile_time"), ("warm_compile_seconds", "warm_compile_time")):
        if record.get(field) is not None:
            yield Point(Metric(name, "s", is_exact=False), *(float(record[field]),) * 3)
    yield Point(Metric("graphs", "graphs", is_exact=True), *(float(record["graphs"]),) * 3)
    breaks = float(sum(int(each.get("count", 1)) for each in record.get("breaks") or ()))
    yield Point(Metric("graph_breaks", "breaks", is_exact=True), breaks, breaks, breaks)


def _of_declared(record: Mapping[str, Any]) -> Iterator[Point]:
    """Yield the figures that the declaration of the record's instrument defines; none for other records."""
    instrument = BY_KIND.get(str(record.get("kind")))
    for each in () if instrument is None else values_of(from_record(instrument.record, record)):
        yield Point(Metric(each.figure.name, each.figure.unit, each.figure.exact), each.value, each.low, each.high)


def _of_samples(metric: Metric, samples: Any) -> Iterator[Point]:
    values = sorted(float(each) for each in samples)
    if values:
        yield Point(metric, _at(values, 0.5), *_interval(values, 0.5))


def _most_frequent(metric: Metric, values: list[float]) -> Point:
    """Return the most frequent value of the repeats, the last of several, as InstructionCounts.stable does."""
    stable = max(range(len(values)), key=lambda index: (values.count(values[index]), index))
    return Point(metric, values[stable], min(values), max(values))


_READERS: dict[str, Callable[[Mapping[str, Any]], Iterator[Point]]] = {
    "measurement": _of_measurement,
    "instruction_counts": _of_counts,
    "device_measurement": _of_device,
    "memory": _of_memory,
    "metrics": _of_metrics,
    "phases": _of_phases,
    "energy": _of_energy,
    "compile_report": _of_compilation,
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
