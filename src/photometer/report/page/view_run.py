"""The page's view of a run: one BenchmarkView per benchmark, with its wall time, instructions and device times.

In: the records of one results file. Out: BenchmarkViews in the order of the file, and Unmeasured for failures
and skips; all of them plain frozen values. `page_data` writes them into the page.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from photometer.analysis.failing_line import with_failing_line
from photometer.analysis.run_table import Doubt, doubts_of, judge_cautions
from photometer.errors import MeasurementError
from photometer.model.device_measurement import DeviceMeasurement
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.measurement import PERCENTILES, Measurement
from photometer.model.order_name import UNNAMED, title_text
from photometer.model.packed_stacks import unpack_stacks
from photometer.model.records import from_record
from photometer.model.results_format import SKIPPED
from photometer.model.visit import UNFINISHED
from photometer.report.page.record_identity import Identity, identity_of

_TIMES: dict[str, type[Measurement | DeviceMeasurement]] = {
    Measurement.KIND: Measurement,
    DeviceMeasurement.KIND: DeviceMeasurement,
}
KINDS = ("measurement", "instruction_counts", "device_measurement", "failure", SKIPPED)

Stack = tuple[tuple[str, ...], int]
FunctionRow = tuple[float, str]


@dataclasses.dataclass(frozen=True)
class WarningView:
    """A reason to doubt, and what to do about it."""

    message: str
    remedy: str = ""


NOT_FINAL = WarningView("It is not final: visits are missing.", "Continue the run with --resume.")


@dataclasses.dataclass(frozen=True)
class TimeView:
    """Wall time: seconds per run of each block, in the order measured, and their statistics.

    `samples` may be fewer than the `blocks` that were measured; the other figures are always of all blocks. `seconds`
    is the undisturbed time of several `visits`, or the median; `typical` is always the median.
    """

    samples: tuple[float, ...]
    seconds: float
    interval: tuple[float, float]
    digits: int
    runs_per_block: int
    blocks: int
    typical: float
    visits: int = 0
    # Percentiles of single runs, or of blocks: the page says which.
    percentiles: tuple[tuple[int, float], ...] = ()
    percentiles_of: str = ""
    # Of torch.compile, in the first call.
    compile_seconds: float | None = None


@dataclasses.dataclass(frozen=True)
class CountView:
    """Instructions per run; but `functions`, `stacks` and `executed` (their sum) are those of all runs of a repeat."""

    total: float
    outside_allocator: float
    allocator_calls: float
    is_exact: bool
    repeats: int
    runs: int = 1
    executed: int = 0
    functions: tuple[FunctionRow, ...] = ()
    stacks: tuple[Stack, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class DeviceModeView:
    """A row of a device measurement: a time with its interval, or why there is none."""

    name: str
    median: float | None
    interval: tuple[float, float] | None
    source: str
    absent_because: str = ""


@dataclasses.dataclass(frozen=True)
class DeviceView:
    """What the statement costs on an accelerator."""

    device: str
    bound: str
    modes: tuple[DeviceModeView, ...]
    kernels: tuple[tuple[str, float, float], ...] = ()
    added_bytes: int | None = None


@dataclasses.dataclass(frozen=True)
class BenchmarkView(Identity):
    """One benchmark with what was measured of it."""

    time: TimeView | None = None
    counts: CountView | None = None
    device: DeviceView | None = None
    warnings: tuple[WarningView, ...] = ()
    source: str = ""
    # Whether its row is marked: it is to be doubted more than the rest (analysis/run_table.py).
    is_doubtful: bool = False
    # What failed of it, though something was measured.
    failures: tuple[Unmeasured, ...] = ()


@dataclasses.dataclass(frozen=True)
class Unmeasured:
    """A benchmark that was selected and has no result."""

    title: str
    reason: str
    log: str = ""


@dataclasses.dataclass(frozen=True)
class RunViews:
    """`machine` is the sentence at the top about doubtful times."""

    benchmarks: tuple[BenchmarkView, ...]
    failed: tuple[Unmeasured, ...]
    skipped: tuple[Unmeasured, ...] = ()
    machine: str = ""


def run_views(records: Sequence[Mapping[str, Any]], source: str = "", most_samples: int = 1000) -> RunViews:
    """Collect the records of each benchmark.

    Its plot gets at most `most_samples` samples; statistics are of all.
    """
    views: dict[str, BenchmarkView] = {}
    failures: dict[str, tuple[Unmeasured, ...]] = {}
    skipped: list[Unmeasured] = []
    doubts: dict[str, tuple[Doubt, ...]] = {}
    for record in records:
        if record["kind"] not in KINDS:
            continue
        identity = identity_of(record, source)
        if record["kind"] == "failure":
            failures[identity.id] = (*failures.get(identity.id, ()), _failure(record, identity))
            continue
        if record["kind"] == SKIPPED:
            skipped.append(Unmeasured(_title(identity), str(record.get("reason", ""))))
            continue
        empty = BenchmarkView(identity.id, identity.path, identity.words, identity.code, source=source)
        views[identity.id] = _with_record(views.get(identity.id, empty), record, most_samples)
        if record["kind"] in _TIMES and not record.get(UNFINISHED):
            found = doubts_of(from_record(_TIMES[record["kind"]], record))
            doubts[identity.id] = doubts.get(identity.id, ()) + found
    cautions = judge_cautions({place: found for place, found in doubts.items() if found}, len(doubts))
    benchmarks = (
        dataclasses.replace(view, is_doubtful=place in cautions.marks, failures=failures.pop(place, ()))
        for place, view in views.items()
    )
    measured = tuple(benchmarks)
    failed = tuple(failure for each in failures.values() for failure in each)
    return RunViews(measured, failed, tuple(skipped), cautions.machine)


def _with_record(view: BenchmarkView, record: Mapping[str, Any], most_samples: int) -> BenchmarkView:
    if record["kind"] == "measurement":
        measurement = from_record(Measurement, record)
        try:
            time = time_view(measurement, most_samples)
        except MeasurementError as error:
            return _warned(view, (WarningView(error.message, error.remedy or ""),))
        warnings = (NOT_FINAL,) if record.get(UNFINISHED) else _warnings(measurement.warnings)
        return dataclasses.replace(_warned(view, warnings), time=time)
    if record["kind"] == "instruction_counts":
        return dataclasses.replace(view, counts=count_view(from_record(InstructionCounts, record), record))
    measured = from_record(DeviceMeasurement, record)
    return dataclasses.replace(_warned(view, _warnings(measured.warnings)), device=device_view(measured))


def _warned(view: BenchmarkView, warnings: tuple[WarningView, ...]) -> BenchmarkView:
    return dataclasses.replace(view, warnings=view.warnings + warnings)


def _warnings(found: Sequence[Any]) -> tuple[WarningView, ...]:
    return tuple(WarningView(each.message, each.remedy) for each in found)


def time_view(measurement: Measurement, most_samples: int) -> TimeView:
    times = measurement.times
    return TimeView(
        samples=thinned(times, most_samples),
        seconds=measurement.seconds,
        interval=measurement.interval_seconds,
        digits=measurement.significant_figures,
        runs_per_block=measurement.number_per_run,
        blocks=len(times),
        compile_seconds=_compile_seconds(measurement),
        typical=measurement.median,
        percentiles=tuple((percent, measurement.percentile(percent)) for percent in PERCENTILES),
        percentiles_of=measurement.percentiles_are_of,
        visits=len(measurement.visits),
    )


def _compile_seconds(measurement: Measurement) -> float | None:
    compile_seconds = (measurement.metadata or {}).get("compile_seconds")
    return compile_seconds if isinstance(compile_seconds, float) else None


def thinned(samples: Sequence[float], most: int) -> tuple[float, ...]:
    """Return every k-th sample, so that a drift over time still shows."""
    step = math.ceil(len(samples) / most) if len(samples) > most else 1
    return tuple(samples[::step])


def sentence_case(text: str) -> str:
    """Return the text with a capital: reasons begin in lower case, because they also follow a name and a colon."""
    return text[:1].upper() + text[1:]


def count_view(counts: InstructionCounts, record: Mapping[str, Any]) -> CountView:
    remarks = [sentence_case(reason) for reason in counts.difference_reasons]
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
    """Return the call stacks; none if the record has none."""
    return () if record.get("stacks") is None else unpack_stacks(record["stacks"])


def device_view(measured: DeviceMeasurement) -> DeviceView:
    return DeviceView(
        device=measured.device_name,
        bound=measured.bound,
        modes=tuple(
            DeviceModeView(
                mode.name.value,
                mode.seconds if mode.measured else None,
                mode.interval_seconds if mode.measured else None,
                mode.source.value if mode.source is not None else "",
                mode.absent_because or "",
            )
            for mode in measured.modes
        ),
        kernels=tuple((k.name, k.calls_per_run, k.seconds_per_run) for k in measured.kernels or ()),
        added_bytes=None if measured.memory is None else measured.memory.added_bytes,
    )


def _title(identity: Identity) -> str:
    return "A benchmark" if identity.path == (UNNAMED,) else title_text(identity.path, identity.words)


def _failure(record: Mapping[str, Any], identity: Identity) -> Unmeasured:
    kind = str(record.get("type") or "")
    message = str(record.get("message") or record.get("reason") or "no reason was recorded")
    step = f"{record['step']}: " if record.get("step") else ""
    reason = step + (message if not kind or kind in message else f"{kind}: {message}")
    remedy = str(record.get("remedy") or "")
    log = str(record.get("log") or "")
    return Unmeasured(_title(identity), f"{with_failing_line(reason, log)} {remedy}".strip(), log)
