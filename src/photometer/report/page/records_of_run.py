"""Records of a run to views: wall times, instruction counts and device times of one benchmark are brought together.

In come the records of one results file; out come BenchmarkViews in the order of the file, and SkipViews for failures.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from photometer.errors import MeasurementError
from photometer.model.device_measurement import DeviceMeasurement
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.measurement import Measurement
from photometer.model.packed_stacks import unpack_stacks
from photometer.report.page.record_identity import Identity, identity_of
from photometer.report.page.view_benchmark import (
    BenchmarkView,
    CountView,
    DeviceModeView,
    DeviceView,
    SkipView,
    Stack,
    TimeView,
    WarningView,
)

KINDS = ("measurement", "instruction_counts", "device_measurement", "failure")


@dataclasses.dataclass(frozen=True)
class RunViews:
    benchmarks: tuple[BenchmarkView, ...]
    skipped: tuple[SkipView, ...]


def run_views(records: Sequence[Mapping[str, Any]], source: str = "", most_samples: int = 1000) -> RunViews:
    """`most_samples` of a benchmark are kept for its plot; what is said of them is always of all."""
    views: dict[str, BenchmarkView] = {}
    skipped = []
    for record in records:
        if record["kind"] not in KINDS:
            continue
        identity = identity_of(record, source)
        if record["kind"] == "failure":
            skipped.append(_skip(record, identity))
            continue
        empty = BenchmarkView(identity.id, identity.path, identity.words, identity.code, source=source)
        views[identity.id] = _with_record(views.get(identity.id, empty), record, most_samples)
    return RunViews(tuple(views.values()), tuple(skipped))


def _with_record(view: BenchmarkView, record: Mapping[str, Any], most_samples: int) -> BenchmarkView:
    if record["kind"] == "measurement":
        measurement = Measurement.from_json(record)
        try:
            time = time_view(measurement, most_samples)
        except MeasurementError as error:
            return _warned(view, (WarningView(error.message, error.remedy or ""),))
        return dataclasses.replace(_warned(view, _warnings(measurement.warnings)), time=time)
    if record["kind"] == "instruction_counts":
        return dataclasses.replace(view, counts=count_view(InstructionCounts.from_json(record), record))
    measured = DeviceMeasurement.from_json(record)
    return dataclasses.replace(_warned(view, _warnings(measured.warnings)), device=device_view(measured))


def _warned(view: BenchmarkView, warnings: tuple[WarningView, ...]) -> BenchmarkView:
    return dataclasses.replace(view, warnings=view.warnings + warnings)


def _warnings(found: Sequence[Any]) -> tuple[WarningView, ...]:
    return tuple(WarningView(each.message, each.remedy) for each in found)


def time_view(measurement: Measurement, most_samples: int) -> TimeView:
    times = measurement.times
    return TimeView(
        samples=thinned(times, most_samples),
        median=measurement.median,
        interval=measurement.interval,
        digits=measurement.significant_figures,
        runs_per_block=measurement.number_per_run,
        blocks=len(times),
    )


def thinned(samples: Sequence[float], most: int) -> tuple[float, ...]:
    """Every k-th, so that what is left still shows the drift over time."""
    step = math.ceil(len(samples) / most) if len(samples) > most else 1
    return tuple(samples[::step])


def count_view(counts: InstructionCounts, record: Mapping[str, Any]) -> CountView:
    remarks = [reason[:1].upper() + reason[1:] for reason in counts.difference_reasons]
    if not counts.frozen_layout:
        remarks.append("The memory layout was not frozen: " + "; ".join(counts.reasons))
    return CountView(
        total=counts.instructions_per_run,
        outside_allocator=counts.outside_allocator_per_run,
        allocator_calls=counts.allocator_calls_per_run,
        is_exact=counts.is_exact,
        repeats=len(counts.repeats),
        runs=counts.number_per_run,
        executed=counts.stable.total,
        functions=tuple((count, function) for count, function in counts.top_functions),
        stacks=stacks_of(record),
        remarks=tuple(remarks),
    )


def stacks_of(record: Mapping[str, Any]) -> tuple[Stack, ...]:
    """Call stacks, where a record has them."""
    return () if record.get("stacks") is None else unpack_stacks(record["stacks"])


def device_view(measured: DeviceMeasurement) -> DeviceView:
    return DeviceView(
        device=measured.device_name,
        bound=measured.bound,
        modes=tuple(
            DeviceModeView(
                mode.name.value,
                mode.median if mode.measured else None,
                mode.interval if mode.measured else None,
                mode.source.value if mode.source is not None else "",
                mode.absent_because or "",
            )
            for mode in measured.modes
        ),
        kernels=tuple((k.name, k.calls_per_run, k.seconds_per_run) for k in measured.kernels or ()),
        added_bytes=None if measured.memory is None else measured.memory.added_bytes,
    )


def _skip(record: Mapping[str, Any], identity: Identity) -> SkipView:
    words = f" [{', '.join(identity.words)}]" if identity.words else ""
    title = " › ".join(identity.path) + words
    if identity.path == ("unnamed",):
        title = "A benchmark"
    kind = str(record.get("type") or "")
    message = str(record.get("message") or record.get("reason") or "no reason was written down")
    step = f"{record['step']}: " if record.get("step") else ""
    reason = step + (message if not kind or kind in message else f"{kind}: {message}")
    remedy = str(record.get("remedy") or "")
    return SkipView(title, f"{reason} {remedy}".strip(), str(record.get("log") or ""))
