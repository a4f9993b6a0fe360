"""A comparison with a results file: not side by side, so less certain; verdicts say by how much.

In: two specs, at least one of them a file, and the plan for a side that must still be measured. Out: an
EnvironmentComparison.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from photometer.analysis.comparison_result import (
    ComparisonFailure,
    ComparisonResult,
    ComparisonSkip,
    EnvironmentComparison,
)
from photometer.analysis.figure_change import MemoryChange, memory_change
from photometer.analysis.guards import left_out_warning, machine_warnings
from photometer.analysis.judge import correct_for_suite, judge_unpaired
from photometer.comparing.request import ComparisonRequest
from photometer.comparing.source import Observer
from photometer.environments.resolved import resolve_environment
from photometer.environments.spec import EnvironmentSpec
from photometer.environments.worktree import Worktrees
from photometer.errors import BenchmarkSkipped, DefinitionError, PhotometerError
from photometer.execution.local_executor import LocalExecutor
from photometer.execution.prepare import prepare
from photometer.execution.rounds import visit_in_rounds
from photometer.instruments.declaration import DEFAULT_MIN_RUN_TIME
from photometer.instruments.machine_facts import gather_machine
from photometer.instruments.memory import take_memory
from photometer.model.machine import Machine
from photometer.model.measurement import Measurement
from photometer.model.memory_measurement import MemoryMeasurement
from photometer.model.order_name import order_id_of, title_text
from photometer.model.records import from_record
from photometer.model.results_reader import load_results
from photometer.plan import WorkOrders
from photometer.plan.work_order import short_titles
from photometer.session.layout import freezing
from photometer.session.session import Session

# A side that must still be measured is measured as in a run.
SECONDS_PER_ORDER = DEFAULT_MIN_RUN_TIME
# An interquartile range is 1.35 standard deviations, and a median's error 1.25 times a mean's.
_MEDIAN_ERROR_PER_IQR = 1.25 / 1.35
# A 95 % interval extends this many standard errors to either side.
_ERRORS_PER_INTERVAL = 1.96
_NOT_SIDE_BY_SIDE = (
    "not measured side by side: every difference includes what varies between processes, memory layouts and hours, so "
    "only changes of several per cent are detectable; compare two environments live to detect tenths"
)


@dataclasses.dataclass(frozen=True)
class TimedSide:
    """Measurements by the key of their benchmark, one per process; titles by the same key."""

    measurements: Mapping[str, tuple[Measurement, ...]]
    titles: Mapping[str, str]
    machine: Machine | None
    is_frozen: bool
    failures: tuple[ComparisonFailure, ...] = ()
    skips: tuple[ComparisonSkip, ...] = ()
    left_out: int = 0
    memory: Mapping[str, MemoryMeasurement] = dataclasses.field(default_factory=dict)


def compare_unpaired(request: ComparisonRequest, observer: Observer) -> EnvironmentComparison:
    """Compare the files; first measure a side that is not a file."""
    if len(request.specs) > 2:
        raise DefinitionError(
            "only two results files can be compared at a time", remedy="Give two sides, or environments only."
        )
    specs, settings = (request.specs[0], request.specs[1]), request.settings
    plan = None if request.planned is None else request.planned.plan
    sides = [
        _from_file(spec, plan) if spec.results is not None else _measured(spec, request, observer) for spec in specs
    ]
    shared, without_times = _shared(sides[0], sides[1], specs)
    verdicts = [
        judge_unpaired(
            *_figures(sides[0].measurements[key], sides[1].measurements[key]),
            settings.criteria,
            frozen_layout=sides[0].is_frozen and sides[1].is_frozen,
            relative_error_base=_relative_error(sides[0].measurements[key]),
            relative_error_branch=_relative_error(sides[1].measurements[key]),
        )
        for key in shared
    ]
    corrected = correct_for_suite(verdicts, rate=settings.false_discovery_rate) if verdicts else ()
    only = len({*sides[0].measurements} ^ {*sides[1].measurements})
    warnings = [_NOT_SIDE_BY_SIDE, *machine_warnings(sides[0].machine, sides[1].machine)]
    warnings += [left_out_warning(side.left_out) for side in sides if side.left_out]
    if only:
        warnings.append(f"{only} benchmarks are on one side only and are left out")
    return EnvironmentComparison(
        names=(specs[0].text, specs[1].text),
        suite="" if plan is None else plan.suite,
        results=tuple(
            ComparisonResult(key, sides[0].titles[key], verdict, memory=_memory(sides[0], sides[1], key))
            for key, verdict in zip(shared, corrected, strict=True)
        ),
        failures=(*sides[0].failures, *sides[1].failures, *without_times),
        skips=(*sides[0].skips, *sides[1].skips),
        warnings=tuple(warnings),
        margin=settings.common_margin,
        false_discovery_rate=settings.false_discovery_rate,
    )


def _shared(
    base: TimedSide, branch: TimedSide, specs: tuple[EnvironmentSpec, EnvironmentSpec]
) -> tuple[list[str], list[ComparisonFailure]]:
    """Return the benchmarks that both sides have measured, and failures for times of zero, which have no ratio."""
    shared, failures = [], []
    for key in base.measurements:
        if key not in branch.measurements:
            continue
        for side, spec in zip((base, branch), specs, strict=True):
            if not all(measurement.raw_times and measurement.median > 0 for measurement in side.measurements[key]):
                message = "it has no samples, or its median time is 0: the clock was too coarse, or the file is damaged"
                failures.append(ComparisonFailure(key, side.titles[key], spec.text, message))
                break
        else:
            shared.append(key)
    return shared, failures


def _memory(base: TimedSide, branch: TimedSide, key: str) -> MemoryChange | None:
    """Return the change of memory if both sides have measured it; it does not depend on process or hour."""
    if key not in base.memory or key not in branch.memory:
        return None
    return memory_change(base.memory[key], branch.memory[key])


def _from_file(spec: EnvironmentSpec, plan: WorkOrders | None) -> TimedSide:
    """Return a file's times by order id if a run wrote the file, by statement and set-up if a program saved it."""
    assert spec.results is not None
    loaded = load_results(spec.results)
    wanted = None if plan is None else {order.id for order in plan}
    found: dict[str, list[Measurement]] = {}
    titles: dict[str, str] = {}
    records = [record for record in loaded.records if record["kind"] == "measurement"]
    for record, measurement in zip(records, loaded.measurements, strict=True):
        key = order_id_of(record) or _task_key(measurement)
        if wanted is None or key in wanted:
            found.setdefault(key, []).append(measurement)
            titles[key] = _title(record.get("order"), measurement)
    # A run's times come from frozen layouts, if this machine allows them; for other files this is unknown.
    is_frozen = "run" in loaded.header and freezing().refused_because is None and _is_here(loaded.machine)
    memory = {
        order_id_of(record): from_record(MemoryMeasurement, record)
        for record in loaded.records
        if record["kind"] == MemoryMeasurement.KIND and isinstance(record.get("order"), Mapping)
    }
    measured = {key: tuple(values) for key, values in found.items()}
    return TimedSide(measured, titles, loaded.machine, is_frozen, memory=memory)


def _measured(spec: EnvironmentSpec, request: ComparisonRequest, observer: Observer) -> TimedSide:
    if request.planned is None:
        raise DefinitionError(
            f"{spec.text} must be measured, but no suite is given", remedy="Name what to run: --suite SUITE."
        )
    plan = request.planned.plan
    titles = short_titles(plan.orders)
    found: dict[str, tuple[Measurement, ...]] = {}
    failures: list[ComparisonFailure] = []
    skips: list[ComparisonSkip] = []
    memory: dict[str, MemoryMeasurement] = {}
    with Worktrees() as worktrees:
        side = resolve_environment(spec, worktrees, install=request.install)
        with Session(side.environment.with_code(request.planned.folders)) as session:
            observer.stage(f"preparing {spec.text}")
            prepared = prepare(plan, LocalExecutor(session), session.facts())
            observer.stage(f"measuring {spec.text}")
            runnable = plan.only(tuple(order for order in plan if order.id not in prepared.no_device))
            ready = [prepared.ready[order.id] for order in runnable if order.id in prepared.ready]
            timed, problems = visit_in_rounds(session, ready, SECONDS_PER_ORDER, on_round=observer.step)
            for order in runnable:
                problem = prepared.failures.get(order.id) or problems.get(order.id)
                try:
                    if problem is None:
                        memory[order.id] = take_memory(session, prepared.ready[order.id])
                        found[order.id] = (timed[order.id],)
                except PhotometerError as error:
                    problem = error
                if isinstance(problem, BenchmarkSkipped):
                    skips.append(ComparisonSkip(order.id, titles[order.id], spec.text, problem.message))
                elif problem is not None:
                    failures.append(
                        ComparisonFailure(order.id, titles[order.id], spec.text, problem.message, problem.log or "")
                    )
    is_frozen = freezing().refused_because is None
    return TimedSide(
        found, titles, gather_machine(), is_frozen, tuple(failures), tuple(skips), len(prepared.no_device), memory
    )


def _is_here(machine: Machine | None) -> bool:
    here = gather_machine()
    return machine is not None and (machine.cpu_model, machine.kernel) == (here.cpu_model, here.kernel)


def _figures(base: tuple[Measurement, ...], branch: tuple[Measurement, ...]) -> tuple[list[float], list[float]]:
    """Return the times to compare: only the medians for files of 0.1, which have no visits."""
    visited = all(measurement.visits for measurement in (*base, *branch))
    figures = [[each.seconds if visited else each.median for each in side] for side in (base, branch)]
    return figures[0], figures[1]


def _relative_error(measurements: tuple[Measurement, ...]) -> float:
    """Return the error of one figure, from the scatter of its visits or of its blocks; the mean over processes."""
    errors = [
        measurement.uncertainty / _ERRORS_PER_INTERVAL
        if measurement.visits and math.isfinite(measurement.uncertainty)
        else _MEDIAN_ERROR_PER_IQR * measurement.iqr / measurement.median / math.sqrt(len(measurement.times))
        for measurement in measurements
    ]
    return sum(errors) / len(errors)


def _task_key(measurement: Measurement) -> str:
    spec = measurement.task_spec
    return "\0".join((spec.stmt, spec.setup, spec.global_setup, str(spec.num_threads)))


def _title(order: Any, measurement: Measurement) -> str:
    if isinstance(order, Mapping) and isinstance(order.get("label"), list):
        return title_text((str(word) for word in order["label"]), [measurement.task_spec.description or ""])
    return measurement.task_spec.title
