"""After all times of a run: what else is asked of its orders: work, peaks, own metrics, phases of a step, energy.

In: the plan, the session, what is asked. Out: records, each the moment it is there. One order after the other, so that
phases are timed on a quiet machine. What fails is a failure of that step alone; the order's times are there already.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from photometer.errors import PhotometerError
from photometer.execution.compile_order import kind_of, preparation_of
from photometer.execution.executor import ReadyOrder
from photometer.execution.order_record import identified, task_spec_of
from photometer.instruments.device.energy import card_number, measure_energy, open_energy_counter
from photometer.instruments.peaks import peak_of
from photometer.model.energy import EnergyOfRun
from photometer.model.language import Language
from photometer.model.observed_run import MetricValues, ObservedMetrics, PhaseSeconds, PhaseTimes
from photometer.model.records import to_record
from photometer.model.work_of_run import MachinePeak, WorkOfRun
from photometer.plan.auto_labels import RuntimeMode
from photometer.plan.order_figures import OrderFigures, phase_setup
from photometer.plan.work_order import WorkOrder, WorkOrders
from photometer.session.child_process import ChildProcess
from photometer.session.session import Session
from photometer.worker.figure_messages import CountWork, Observe
from photometer.worker.messages import Spin

# Values of a metric: enough for a median, few enough that a step of a second does not take a minute.
METRIC_RUNS = 5
# A phase is timed in single runs, so that more of them are needed.
PHASE_RUNS = 20
WARMUP_RUNS = 3
FIGURE_KINDS = (WorkOfRun.KIND, ObservedMetrics.KIND, PhaseTimes.KIND, EnergyOfRun.KIND)

OnRecord = Callable[[Mapping[str, Any]], object]
OnProblem = Callable[[str, str], object]
OnOrder = Callable[[int, int, str], object]


@dataclasses.dataclass(frozen=True)
class FigureSettings:
    """`rates` counts the work of every order that has no flops= and bytes=, and measures the machine's peak."""

    rates: bool = False
    energy: bool = False


def asks_for_figures(plan: WorkOrders, settings: FigureSettings) -> bool:
    return settings.rates or settings.energy or any(order.figures is not None for order in plan)


def measure_figures(
    plan: WorkOrders,
    session: Session,
    settings: FigureSettings,
    on_record: OnRecord,
    *,
    records: Iterable[Mapping[str, Any]] = (),
    on_problem: OnProblem = lambda title, reason: None,
    on_order: OnOrder = lambda done, all_orders, title: None,
) -> None:
    """Measure what is asked. `records` are those that the file has: nothing is measured twice, nor what failed."""
    done, failed = _known(records)
    dtypes: dict[MachinePeak, None] = {}
    for number, order in enumerate(plan):
        on_order(number, len(plan), order.short_title)
        if order.id in failed:
            continue
        for kind, measure in _steps(order, settings):
            if (order.id, kind) in done:
                continue
            try:
                record = measure(session, order)
            except PhotometerError as error:
                on_problem(order.short_title, f"{kind}: {error.message}")
                continue
            if record is not None:
                on_record(identified(to_record(record), order))
                if isinstance(record, WorkOfRun):
                    dtypes[MachinePeak(order.auto.device, order.args.num_threads, record.dtype, 0.0, 0.0)] = None
    if settings.rates:
        _keep_peaks(session, dtypes, on_record, on_problem)


def _known(records: Iterable[Mapping[str, Any]]) -> tuple[set[tuple[str, str]], set[str]]:
    done, failed = set(), set()
    for record in records:
        order = record.get("order")
        if isinstance(order, Mapping):
            identity = str(order.get("id"))
            done |= {(identity, str(record["kind"]))}
            failed |= {identity} if record["kind"] == "failure" else set()
    return done, failed


def _steps(order: WorkOrder, settings: FigureSettings) -> list[tuple[str, Callable[[Session, WorkOrder], Any]]]:
    figures = order.figures or OrderFigures()
    eager = order.auto.runtime in (RuntimeMode.EAGER, RuntimeMode.EXPLICIT)
    is_python = order.args.language is Language.PYTHON
    steps: list[tuple[str, Callable[[Session, WorkOrder], Any]]] = []
    given = figures.flops is not None or figures.bytes is not None
    if given or (settings.rates and eager and is_python):
        steps.append((WorkOfRun.KIND, _work if settings.rates and eager and is_python else _given_work))
    if figures.metrics:
        steps.append((ObservedMetrics.KIND, _metrics))
    if figures.phases:
        steps.append((PhaseTimes.KIND, _phases))
    if settings.energy and order.auto.on_device and is_python and order.model_id is None:
        steps.append((EnergyOfRun.KIND, _energy))
    return steps


def _given_work(session: Session, order: WorkOrder) -> WorkOfRun:
    figures = order.figures or OrderFigures()
    return WorkOfRun(
        task_spec_of(order),
        figures.flops,
        figures.bytes,
        flops_given=figures.flops is not None,
        bytes_given=figures.bytes is not None,
    )


def _work(session: Session, order: WorkOrder) -> WorkOfRun | None:
    """Return what the author gave, and for what is absent what one run was seen to do."""
    given = _given_work(session, order)
    with _prepared(session, order) as child:
        counted = child.ask(CountWork(), order.timeout_seconds)
    return dataclasses.replace(
        given,
        flops=given.flops if given.flops_given else counted.flops,
        bytes=given.bytes if given.bytes_given else counted.bytes,
        dtype=counted.dtype,
    )


def _metrics(session: Session, order: WorkOrder) -> ObservedMetrics:
    assert order.figures is not None
    names = order.figures.metrics
    with _prepared(session, order) as child:
        observed = child.ask(Observe(names, METRIC_RUNS), order.timeout_seconds)
    values = zip(names, observed.values, strict=True)
    return ObservedMetrics(task_spec_of(order), tuple(MetricValues(name, tuple(found)) for name, found in values))


def _phases(session: Session, order: WorkOrder) -> PhaseTimes:
    figures = order.figures
    assert figures is not None
    device = order.auto.device.split(":")[0]
    clock = phase_setup(f"torch.{device}.synchronize()" if order.auto.on_device else "")
    with _prepared(session, order, stmt=figures.phase_stmt, setup=f"{ReadyOrder(order).setup}\n{clock}") as child:
        observed = child.ask(Observe(figures.marks, PHASE_RUNS, WARMUP_RUNS), order.timeout_seconds)
    marks = observed.values
    phases = tuple(
        PhaseSeconds(name, tuple(max(end - start, 0.0) for start, end in zip(before, after, strict=True)))
        for name, before, after in zip(figures.phases, marks[:-1], marks[1:], strict=True)
    )
    return PhaseTimes(task_spec_of(order), phases)


def _energy(session: Session, order: WorkOrder) -> EnergyOfRun:
    read_joules = open_energy_counter(card_number(os.environ.get("CUDA_VISIBLE_DEVICES"), order.auto.device))
    with _prepared(session, order, warmup_runs=3) as child:
        # The child's clock waits for the device, so that what was queued is done when it replies.
        return measure_energy(
            lambda seconds: child.ask(Spin(seconds), order.timeout_seconds + seconds).runs,
            read_joules,
            task_spec_of(order),
        )


@contextlib.contextmanager
def _prepared(session: Session, order: WorkOrder, **changes: Any) -> Iterator[ChildProcess]:
    """Lend a child that has prepared the order, with `changes` to what it prepares."""
    prepare = dataclasses.replace(preparation_of(session, ReadyOrder(order)), **changes)
    with session.child(kind_of(order)) as child:
        child.ask(prepare, order.timeout_seconds)
        yield child


def _keep_peaks(session: Session, wanted: Iterable[MachinePeak], on_record: OnRecord, on_problem: OnProblem) -> None:
    kept: set[MachinePeak] = set()
    for each in wanted:
        try:
            peak = peak_of(session, device=each.device, num_threads=each.num_threads, dtype=each.dtype)
        except PhotometerError as error:
            on_problem(f"peak of {each.device}", error.message)
            continue
        if peak not in kept:
            kept.add(peak)
            on_record(to_record(peak))
