"""preflight: prepare both sides and run every benchmark once on each, before anything is measured.

In: two started sides and a plan. Out: a CheckedPlan: what can be measured, what cannot, and warnings.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from photometer.analysis.comparison_result import ComparisonFailure
from photometer.analysis.guards import (
    ProbeResult,
    checkout_warning,
    environment_warnings,
    left_out_warning,
    order_warnings,
    thread_warnings,
)
from photometer.comparing.fork_sampler import Contestants
from photometer.comparing.observer import Observer
from photometer.comparing.request import PlannedSuite
from photometer.environments.resolved import ResolvedEnvironment
from photometer.errors import PhotometerError, WorkerError
from photometer.execution.compile_order import kind_of, preparation_of
from photometer.execution.executor import Failure, ReadyOrder
from photometer.execution.local_executor import LocalExecutor
from photometer.execution.measure_order import run_once
from photometer.execution.prepare import PreparedPlan, prepare
from photometer.instruments.replicate import Side
from photometer.model.language import Language
from photometer.plan.probe import PROBE_FOLDER, with_result_path
from photometer.plan.work_order import WorkOrder, WorkOrders
from photometer.session.layout import freezing
from photometer.session.left_behind import private_folder
from photometer.session.session import Session
from photometer.worker.messages import LookAround, Time

SIDE_NAMES = ("base", "branch")
# One letter each: they are part of paths, whose length must be the same on both sides.
SIDE_LETTERS = ("a", "b")


@dataclasses.dataclass(frozen=True)
class StartedSide:
    """One side of a comparison: what it is, and the session that runs it."""

    resolved: ResolvedEnvironment
    session: Session

    @property
    def checkout(self) -> str:
        """Return the folder that its code is imported from; empty if it is installed."""
        imports = self.resolved.imports_checkout and self.resolved.checkout is not None
        return str(self.resolved.checkout.folder) if imports and self.resolved.checkout else ""


StartedSides = tuple[StartedSide, StartedSide]


@dataclasses.dataclass(frozen=True)
class CheckedPlan:
    """What can be measured, what cannot, and warnings."""

    orders: tuple[WorkOrder, ...]
    failures: tuple[ComparisonFailure, ...]
    warnings: tuple[str, ...]
    order_warnings: Mapping[str, tuple[str, ...]]
    prepared: tuple[PreparedPlan, PreparedPlan]

    def contestants(self, sides: StartedSides, orders: Sequence[WorkOrder]) -> list[Contestants]:
        """Return both sides of each order, base first."""
        return [
            Contestants(
                tuple(
                    Side(side.session, preparation_of(side.session, prepared.ready[order.id], device_time=True))
                    for side, prepared in zip(sides, self.prepared, strict=True)
                ),
                order.timeout_seconds,
            )
            for order in orders
        ]


def preflight(sides: StartedSides, planned: PlannedSuite, titles: Mapping[str, str], observer: Observer) -> CheckedPlan:
    """Prepare both sides, run everything once on each, and collect failures and warnings."""
    observer.stage("preparing both sides")
    both = _Both(sides, planned)
    warnings = [*environment_warnings(both.prepared[0].facts, both.prepared[1].facts)]
    refused = freezing().refused_because
    if refused is not None:
        warnings.append(f"{refused}: every pair of processes has its own bias, so verdicts need more time")
    left_out = both.prepared[0].no_device | both.prepared[1].no_device
    if left_out:
        warnings.append(left_out_warning(len(left_out)))
    plan = planned.plan.only(tuple(order for order in planned.plan if order.id not in left_out))
    load = os.getloadavg()[0]
    orders: list[WorkOrder] = []
    failures: list[ComparisonFailure] = []
    by_order: dict[str, tuple[str, ...]] = {}
    seen: tuple[list[ProbeResult], list[ProbeResult]] = ([], [])
    observer.stage("checking that both sides compute the same")
    with private_folder("check") as folder:
        for done, order in enumerate(plan, start=1):
            outcome = both.check(order, titles, folder)
            if isinstance(outcome, ComparisonFailure):
                failures.append(outcome)
            else:
                orders.append(order)
                by_order[order.id] = (*order_warnings(*outcome), *thread_warnings(order.args.num_threads, load))
                for gathered, result in zip(seen, outcome, strict=True):
                    gathered.append(result)
            observer.step(done, len(plan))
    if all(side.checkout for side in sides) and orders:
        warnings += checkout_warning(*seen)
    return CheckedPlan(tuple(orders), tuple(failures), tuple(warnings), by_order, both.prepared)


def failure_of(
    order_id: str, titles: Mapping[str, str], side: str, error: PhotometerError | Failure
) -> ComparisonFailure:
    return ComparisonFailure(order_id, titles[order_id], side, error.message, error.log or "")


class _Both:
    """Both sides with the plan, and the C++ probes that must be compiled, prepared on each."""

    def __init__(self, sides: StartedSides, planned: PlannedSuite) -> None:
        self._sides = sides
        self._probes = planned.probes
        executors = [LocalExecutor(side.session) for side in sides]
        # Servers start at the same time; each step after that uses all cores.
        with ThreadPoolExecutor(2) as threads:
            facts = list(threads.map(lambda side: side.session.facts(), sides))
        cpp_probes = self._cpp_probes(planned)
        prepared, probes = [], []
        for executor, fact, letter in zip(executors, facts, SIDE_LETTERS, strict=True):
            ready = prepare(planned.plan, executor, fact, side=letter)
            built = tuple(probe for probe in cpp_probes if probe.id in ready.ready)
            prepared.append(ready)
            probes.append(
                prepare(cpp_probes.only(built), executor, fact, side=letter, include_paths=[str(PROBE_FOLDER)])
            )
        self.prepared: tuple[PreparedPlan, PreparedPlan] = (prepared[0], prepared[1])
        self._built_probes = probes

    def _cpp_probes(self, planned: PlannedSuite) -> WorkOrders:
        """Return none if both sides run the same code: compiling probes takes longer than most comparisons."""
        found = [
            with_result_path(probe, probe.id)
            for probe in planned.probes.values()
            if probe.args.language is Language.CPP
        ]
        base, branch = (
            (facts.torch_folder, facts.git_version, side.session.environment.variables)
            for side in self._sides
            for facts in (side.session.facts(),)
        )
        if base == branch:
            # The same machine code, but a scripted model may come from a module that differs.
            paths = [side.session.environment.path for side in self._sides]
            found = [probe for probe in found if probe.model_id is not None and paths[0] != paths[1]]
        return planned.plan.only(tuple(found))

    def check(
        self, order: WorkOrder, titles: Mapping[str, str], folder: Path
    ) -> ComparisonFailure | tuple[ProbeResult, ProbeResult]:
        results: list[ProbeResult] = []
        for place, (name, side) in enumerate(zip(SIDE_NAMES, self._sides, strict=True)):
            failures = self.prepared[place].failures
            if order.id in failures:
                return failure_of(order.id, titles, name, failures[order.id])
            ready = self.prepared[place].ready[order.id]
            try:
                if order.args.language is Language.CPP:
                    run_once(side.session, ready)
                    results.append(_run_built_probe(side.session, self._built_probes[place], order.id, folder))
                else:
                    results.append(_run_probe(side, ready, self._probes.get(order.id), folder))
            except WorkerError as error:
                return failure_of(order.id, titles, name, error)
        return results[0], results[1]


def _run_built_probe(session: Session, probes: PreparedPlan, order_id: str, folder: Path) -> ProbeResult:
    """Run the compiled probe of a statement that has just run, if there is one."""
    if order_id in probes.failures:
        return ProbeResult(not_compared_because=probes.failures[order_id].message)
    probe = probes.ready.get(order_id)
    if probe is None:
        return ProbeResult()
    results = folder / order_id
    results.unlink(missing_ok=True)
    try:
        run_once(session, probe, folder=str(folder))
    except WorkerError as error:
        # The statement itself has just run; compare it even if it cannot run twice, or its result cannot be shown.
        return ProbeResult(not_compared_because=error.message)
    return ProbeResult(results=_read(results))


def _run_probe(side: StartedSide, ready: ReadyOrder, probe: WorkOrder | None, folder: Path) -> ProbeResult:
    """Run the statement once and inspect what it left. `probe` is the order rewritten to write its results, if any."""
    results = folder / "results.json"
    results.unlink(missing_ok=True)
    order = ready.order if probe is None else with_result_path(probe, str(results))
    prepare = preparation_of(side.session, dataclasses.replace(ready, order=order))
    with side.session.child(kind_of(order)) as child:
        child.ask(dataclasses.replace(prepare, path=(str(PROBE_FOLDER),)), order.timeout_seconds)
        child.ask(Time(1), order.timeout_seconds)
        around = child.ask(LookAround(side.checkout), order.timeout_seconds)
    return ProbeResult(_read(results), tuple(around.modules), around.num_threads, around.flushes_denormals)


def _read(results: Path) -> Mapping[str, Sequence[Mapping[str, object]]] | None:
    # Python's own spelling of nan and inf is intended: the probe wrote the file.
    return json.loads(results.read_text(encoding="utf-8")) if results.exists() else None
