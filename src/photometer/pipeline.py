"""The program at a glance: a suite is defined, planned, executed and reported, one call after the other.

In: the arguments of a user. Out: a RunReport: where the results are, and their table.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from photometer.analysis.check_results import CheckedBenchmark, check_results
from photometer.analysis.ladder import Ladder, ladder_of
from photometer.analysis.run_table import RunTable, tabulate_run
from photometer.definition import load_suite
from photometer.definition.axes import with_axes
from photometer.definition.suite import Suite
from photometer.execution.budget import Budget
from photometer.execution.executor import describe
from photometer.execution.import_check import check_imports
from photometer.execution.local_executor import LocalExecutor
from photometer.execution.observer import NullObserver, RunObserver
from photometer.execution.run_file import RecordWriter, RunFile, kept_visits, open_run_file
from photometer.execution.run_settings import RunSettings
from photometer.execution.scheduler import probe_plan, run_plan
from photometer.execution.workplace import Workplace
from photometer.model.machine import Environment, Machine, Node
from photometer.model.results_folder import RESULTS_FOLDER, check_results_folder, hold_folder
from photometer.model.results_reader import load_results
from photometer.model.visit import with_unfinished
from photometer.plan import materialize, select
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS, WorkOrders
from photometer.session.session import Session
from photometer.worker.messages import TorchFacts

if TYPE_CHECKING:
    from photometer.history.writing import Origin
    from photometer.model.results_format import Recordable

    Keep = Callable[[Recordable | Mapping[str, Any]], object]


SuiteLike = str | Suite | Mapping[Any, Any]
OnPlan = Callable[[WorkOrders, WorkOrders], object]


class ClusterPlace(Workplace, Protocol):
    """A workplace on other machines: remote/ray_workplace.py."""

    @property
    def facts(self) -> TorchFacts:
        """Return the facts of the nodes' torch, with all kinds of accelerator on any of them."""

    @property
    def timing_machine(self) -> Machine | None:
        """Return the machine that times are measured on."""

    def keep_nodes(self, keep: Callable[[Node], object]) -> None:
        """From now on, keep a record of each node before any of its results."""

    def check_imports(self, plan: WorkOrders) -> None:
        """Raise if a module is missing and nothing in the plan can run without it."""


OpenPlace = Callable[[], contextlib.AbstractContextManager[ClusterPlace]]
"""A function that opens the workplace of a cluster."""


@dataclasses.dataclass(frozen=True)
class RunReport:
    """The outcome of a run: the plan, the results file, the table of all results, and the ladder if it has one."""

    plan: WorkOrders
    results: Path | None
    table: RunTable
    ladder: Ladder | None = None


def run(
    suite: SuiteLike,
    *,
    output: str | Path | None = None,
    expression: str | None = None,
    tags: Collection[str] = (),
    min_run_time: float | None = None,
    budget: float | None = None,
    repeats: int | None = None,
    timeout: float = DEFAULT_TIMEOUT_SECONDS,
    cores: Sequence[int] | None = None,
    environment: Environment | None = None,
    where: str | None = None,
    seed: int | None = None,
    settings: RunSettings | None = None,
    resume: bool = False,
    store: str | None = None,
    observer: RunObserver | None = None,
    **instruments: bool,
) -> RunReport:
    """Measure a suite, as `photometer run` does, and return where the results are, with their table.

    Args:
        suite: its name, as on the command line, a Suite, or a dict of benchmarks.
        output: folder for the results; by default photometer-results/NAME.
        expression: only labels that match, as `-k` does.
        tags: only benchmarks with one of these tags.
        min_run_time: seconds to measure each variant; 0.2 by default.
        budget: maximum seconds to measure; `resume` measures the rest.
        repeats: number of counts of each variant; 2 by default.
        timeout: give up a variant after this many seconds.
        cores: numbers of the logical processors to use; by default all.
        environment: the interpreter whose torch is used; by default this one.
        where: only sizes for which this expression is true.
        seed: seed of random data in all processes.
        settings: all of these in one object; other arguments take precedence.
        resume: continue a run in `output` that was stopped.
        store: the history store, a path or a URL, that also gets every record.
        observer: is notified of what is measured.
        instruments: what is measured, by the names of the command's options: `memory=True`, `instructions=False`.

    """
    defined = as_suite(suite)
    folder = RESULTS_FOLDER / defined.name if output is None else Path(output)
    chosen = _chosen_settings(
        settings,
        instruments,
        min_run_time=min_run_time,
        repeats=repeats,
        cores=None if cores is None else tuple(cores),
        environment=environment,
        where=where,
        seed=seed,
    )
    return run_suite(
        defined,
        folder,
        chosen,
        expression=expression,
        tags=tags,
        timeout_seconds=timeout,
        resume=resume,
        observer=observer,
        store=store,
        budget=Budget(budget),
    )


def check(
    suite: SuiteLike,
    *,
    expression: str | None = None,
    tags: Collection[str] = (),
    timeout: float = DEFAULT_TIMEOUT_SECONDS,
    cores: Sequence[int] | None = None,
    environment: Environment | None = None,
    seed: int | None = None,
    settings: RunSettings | None = None,
    observer: RunObserver | None = None,
) -> list[CheckedBenchmark]:
    """Run every variant of a suite once and compare what those of one benchmark computed: `photometer check`.

    The arguments are those of `run`.
    """
    chosen = _chosen_settings(
        settings, {}, cores=None if cores is None else tuple(cores), environment=environment, seed=seed
    )
    return check_suite(
        as_suite(suite), chosen, expression=expression, tags=tags, timeout_seconds=timeout, observer=observer
    )


def as_suite(suite: SuiteLike) -> Suite:
    """Return the named suite, or one made of a dict of benchmarks."""
    if isinstance(suite, Suite):
        return suite
    return load_suite(suite) if isinstance(suite, str) else Suite.from_benchmarks(dict(suite), name="suite")


def _chosen_settings(settings: RunSettings | None, instruments: Mapping[str, bool], **given: Any) -> RunSettings:
    """Return the settings with the arguments that are given besides them."""
    whole = settings or RunSettings()
    values = {name: value for name, value in given.items() if value is not None}
    return dataclasses.replace(whole, options={**whole.options, **instruments}, **values)


class RunStopped(KeyboardInterrupt):
    """A signal such as Ctrl-C stopped the run. `results` is its file."""

    def __init__(self, results: Path) -> None:
        super().__init__()
        self.results = results


def run_suite(
    suite: str | Suite,
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
    on_plan: OnPlan | None = None,
    open_place: OpenPlace | None = None,
    budget: Budget | None = None,
) -> RunReport:
    """Measure a suite; every result is in `folder/results.json` the moment it is there, and in the `store` if given.

    `origin` says which commit is measured, if not the one checked out here; `session` is used instead of a new one;
    `on_plan` is called with the whole plan and the selected one; `open_place` opens the workplace of a cluster, whose
    nodes then measure instead of this machine. `budget` is for this run, or for several. Raise RunStopped if a signal
    ends it.
    """
    budget = budget or Budget()
    defined = with_axes(load_suite(suite) if isinstance(suite, str) else suite, settings.axes, settings.where)
    settings = _with_code(settings, defined)
    check_results_folder(folder)
    nothing = _nothing_selected(defined, expression, tags, on_plan)
    if nothing is not None:
        return RunReport(nothing, None, RunTable())
    observer = observer or NullObserver()
    with LocalExecutor(session or Session(settings.environment)) as executor, contextlib.ExitStack() as stack:
        place = None if open_place is None else stack.enter_context(open_place())
        facts = describe(executor) if place is None else place.facts
        planned = materialize(defined, available_devices=facts.devices, timeout_seconds=timeout_seconds)
        plan = select(planned, expression, tags).seeded(settings.seed)
        if on_plan is not None:
            on_plan(planned, plan)
        if not len(plan):
            return RunReport(plan, None, RunTable())
        if place is None:
            check_imports(plan, executor.session)
        else:
            place.check_imports(plan)
        with hold_folder(folder):
            measured = {} if origin is None else origin.as_header()
            machine = None if place is None else place.timing_machine
            file = open_run_file(folder, plan, settings, facts, resume=resume, measured=measured, machine=machine)
            with _keeping(file, store, origin) as keep:
                if place is not None:
                    place.keep_nodes(keep)
                with kept_visits(file, settings) as book, contextlib.ExitStack() as writing:
                    # A store's connection belongs to this thread.
                    in_background = place is not None and store is None
                    try:
                        run_plan(
                            plan,
                            settings,
                            executor,
                            facts,
                            writing.enter_context(RecordWriter(keep)).keep if in_background else keep,
                            finished=file.finished,
                            observer=observer,
                            book=book,
                            workplace=place,
                            budget=budget,
                        )
                    except KeyboardInterrupt as stop:
                        raise RunStopped(file.path) from stop
            results = with_unfinished(load_results(file.path))
    table = tabulate_run(results, {order.id for order in plan}, plan.suite)
    return RunReport(plan, file.path, table, ladder_of(results.records_by_suite))


def _with_code(settings: RunSettings, suite: Suite) -> RunSettings:
    """Return the settings with the suite's own folders in the environment."""
    return dataclasses.replace(settings, environment=settings.environment.with_code(suite.folders))


def _nothing_selected(
    defined: Suite, expression: str | None, tags: Collection[str], on_plan: OnPlan | None
) -> WorkOrders | None:
    """Return the empty plan if nothing is selected on any device, which needs no server to find out."""
    if expression is None and not tags:
        return None
    everywhere = materialize(defined)
    selected = select(everywhere, expression, tags)
    if len(selected):
        return None
    if on_plan is not None:
        on_plan(everywhere, selected)
    return selected


@contextlib.contextmanager
def _keeping(file: RunFile, store: str | None, origin: Origin | None) -> Iterator[Keep]:
    """Yield a function that keeps a record: in the file, and then in the store, which also gets earlier records."""
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


def check_suite(
    suite: str | Suite,
    settings: RunSettings,
    *,
    expression: str | None = None,
    tags: Collection[str] = (),
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    observer: RunObserver | None = None,
    on_plan: OnPlan | None = None,
) -> list[CheckedBenchmark]:
    """Run every variant once and compare what those of one benchmark computed."""
    defined = load_suite(suite) if isinstance(suite, str) else suite
    settings = _with_code(settings, defined)
    if _nothing_selected(defined, expression, tags, on_plan) is not None:
        return []
    with LocalExecutor(Session(settings.environment)) as executor:
        facts = describe(executor)
        probes = materialize(defined, available_devices=facts.devices, timeout_seconds=timeout_seconds, probe=True)
        plan = select(probes, expression, tags).seeded(settings.seed)
        if on_plan is not None:
            on_plan(probes, plan)
        check_imports(plan, executor.session)
        return check_results(probe_plan(plan, settings, executor, facts, observer))
