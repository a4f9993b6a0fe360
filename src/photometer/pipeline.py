"""The picture of the program: a suite is defined, planned, executed and reported, one call after the other.

In comes what a user names, out comes a RunReport: where the results are, and the table of them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from photometer.analysis.check_results import CheckedBenchmark, check_results
from photometer.analysis.ladder import Ladder
from photometer.analysis.run_table import RunTable, tabulate_run
from photometer.analysis.speedup import Speedup, runtime_groups
from photometer.comparing.ladder import counted_instructions, is_ladder, measure_ladder
from photometer.comparing.runtimes import measure_speedups
from photometer.definition import load_suite
from photometer.definition.axes import with_axes
from photometer.execution.executor import describe
from photometer.execution.figure_pass import FigureSettings, asks_for_figures, measure_figures
from photometer.execution.import_check import check_imports
from photometer.execution.local_executor import LocalExecutor
from photometer.execution.observer import NullObserver, RunObserver, RunState
from photometer.execution.probe_plan import probe_plan
from photometer.execution.run_file import RunFile, open_run_file
from photometer.execution.run_settings import RunSettings
from photometer.execution.scheduler import run_plan
from photometer.model.folder_lock import hold_folder
from photometer.model.results_reader import load_results
from photometer.plan import materialize, select
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS, WorkOrders
from photometer.session.session import Session
from photometer.worker.messages import TorchFacts

if TYPE_CHECKING:
    from photometer.history.writing import Origin
    from photometer.model.results_format import Recordable

    Keep = Callable[[Recordable | Mapping[str, Any]], object]


@dataclasses.dataclass(frozen=True)
class RunReport:
    """What came of a run: the plan, the results file, the table of all that is in it, and the ladder if it has one."""

    plan: WorkOrders
    results: Path | None
    table: RunTable
    ladder: Ladder | None = None


def run_suite(
    suite: str,
    folder: Path,
    settings: RunSettings,
    *,
    expression: str | None = None,
    tags: Collection[str] = (),
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    resume: bool = False,
    observer: RunObserver | None = None,
    store: str | None = None,
    origin: Origin | None = None,
    session: Session | None = None,
) -> RunReport:
    """Measure a suite; every result is in `folder/results.json` the moment it is there, and in the `store` if given.

    `origin` says which commit is measured, if not the one checked out here; `session` is used instead of a new one.
    """
    defined = with_axes(load_suite(suite), settings.axes, settings.where)
    observer = observer or NullObserver()
    with LocalExecutor(session or Session(settings.environment)) as executor:
        facts = describe(executor)
        planned = materialize(defined, available_devices=facts.devices, timeout_seconds=timeout_seconds)
        plan = select(planned, expression, tags)
        if not len(plan):
            return RunReport(plan, None, RunTable())
        check_imports(plan, executor.session)
        with hold_folder(folder):
            measured = {} if origin is None else origin.as_header()
            file = open_run_file(folder, plan, settings, facts, resume=resume, measured=measured)
            with _keeping(file, store, origin) as keep:
                run_plan(plan, settings, executor, facts, keep, finished=file.finished, observer=observer)
                climbs = settings.measures_ladder and is_ladder(plan)
                ladder = climb(plan, executor.session, file, keep, observer) if climbs else None
                if settings.measures_speedups:
                    _speed_up(plan, executor.session, facts, file, keep, observer)
                _take_figures(plan, executor.session, settings, file, keep, observer)
            results = load_results(file.path)
    return RunReport(plan, file.path, tabulate_run(results, {order.id for order in plan}, plan.suite), ladder)


def _speed_up(
    plan: WorkOrders, session: Session, facts: TorchFacts, file: RunFile, keep: Keep, observer: RunObserver
) -> None:
    """Measure compiled variants beside eager ones, in pairs; not what failed before, or is there already."""
    records = load_results(file.path).records if runtime_groups(plan) else ()
    failed = {str(record["order"]["id"]) for record in records if record["kind"] == "failure" and "order" in record}
    failed |= {str(record["order_id"]) for record in records if record["kind"] == Speedup.KIND}
    if records:
        measure_speedups(plan, session, facts, keep=keep, failed=failed, on_problem=observer.gave_up)


def _take_figures(
    plan: WorkOrders, session: Session, settings: RunSettings, file: RunFile, keep: Keep, observer: RunObserver
) -> None:
    """Measure what is asked beside times and counts: rates, metrics, phases, energy."""
    asked = FigureSettings(settings.rates, settings.energy)
    if asks_for_figures(plan, asked):
        records = load_results(file.path).records
        start = time.monotonic()

        def on_order(done: int, orders: int, title: str) -> None:
            left = (time.monotonic() - start) / max(done, 1) * (orders - done)
            observer.progressed(RunState(done, orders, 0, left, (title,)))

        measure_figures(plan, session, asked, keep, records=records, on_problem=observer.gave_up, on_order=on_order)


@contextlib.contextmanager
def _keeping(file: RunFile, store: str | None, origin: Origin | None) -> Iterator[Keep]:
    """Yield what takes a record: the file, and then the store, which also gets what the file has already."""
    if store is None:
        yield file.file.append
        return
    from photometer.history.recorder import open_recorder

    earlier = load_results(file.path, recover=True)
    with open_recorder(store, earlier.header, origin=origin, file=file.path) as recorder:
        recorder.add_all(earlier.records)

        def keep(record: Recordable | Mapping[str, Any]) -> None:
            file.file.append(record)
            recorder.add(record)

        yield keep


def climb(plan: WorkOrders, session: Session, file: RunFile, keep: Keep, observer: RunObserver) -> Ladder:
    """Measure each rung of a suite of rungs beside the one it stands on, and keep the steps in the file."""
    counts = counted_instructions(load_results(file.path))
    ladder = measure_ladder(plan, session, instructions=counts, on_rung=observer.climbed)
    for step in ladder:
        keep(step)
    return ladder


def check_suite(
    suite: str,
    settings: RunSettings,
    *,
    expression: str | None = None,
    tags: Collection[str] = (),
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    observer: RunObserver | None = None,
) -> list[CheckedBenchmark]:
    """Run every variant once and compare what those of one benchmark computed."""
    defined = load_suite(suite)
    with LocalExecutor(Session(settings.environment)) as executor:
        facts = describe(executor)
        probes = materialize(defined, available_devices=facts.devices, timeout_seconds=timeout_seconds, probe=True)
        plan = select(probes, expression, tags)
        check_imports(plan, executor.session)
        return check_results(probe_plan(plan, settings, executor, facts, observer))
