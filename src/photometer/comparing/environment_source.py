"""EnvironmentSource: the sides of a comparison are environments that all run one suite.

In: a ComparisonRequest. Out: started sides, and a CheckedPlan. Every benchmark runs once on every side before anything
is measured, so that failures and different results are known from the start.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import string
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from photometer.analysis.comparison_result import ComparisonFailure, ComparisonSkip
from photometer.analysis.guards import (
    ProbeResult,
    checkout_warning,
    environment_warnings,
    left_out_warning,
    order_warnings,
    overlay_warning,
    thread_warnings,
)
from photometer.comparing.kept_counts import KeptCounts
from photometer.comparing.request import ComparisonRequest, PlannedSuite
from photometer.comparing.source import CheckedPlan, Observer, StartedSide, comparison_header, failure_of, skips_of
from photometer.environments.needs_build import needs_build
from photometer.environments.resolved import Making, resolve_environments
from photometer.environments.worktree import Worktrees
from photometer.errors import BenchmarkSkipped, CannotRun, DefinitionError, ToolMissing, WorkerError
from photometer.execution.executor import Failure
from photometer.execution.local_executor import LocalExecutor
from photometer.execution.prepare import PreparedPlan, prepare
from photometer.instruments.callgrind.counter import SHOWS_FRAMES
from photometer.instruments.ready_order import ReadyOrder, kind_of, preparation_of, run_once
from photometer.model.machine import Environment
from photometer.model.task import Language
from photometer.plan.probe import PROBE_FOLDER, with_result_path
from photometer.plan.work_order import WorkOrder, WorkOrders, short_titles
from photometer.session.layout import freezing
from photometer.session.left_behind import private_folder
from photometer.session.session import Session
from photometer.worker.messages import LookAround, Time

# One letter per side: they are part of paths, whose length must be the same on all sides.
SIDE_LETTERS = string.ascii_lowercase
# A statement that takes longer than this may need fewer runs under Valgrind, so its time is taken once more.
SLOW_SECONDS = 2e-3


class EnvironmentSource:
    """Starts environments as sides. Tests replace `make_session`."""

    def __init__(self, request: ComparisonRequest, *, make_session: Callable[[Environment], Session] = Session) -> None:
        if request.planned is None:
            raise DefinitionError("no suite is given", remedy="Name what to run: --suite SUITE.")
        if len(request.specs) > len(SIDE_LETTERS):
            raise DefinitionError(
                f"there are {len(request.specs)} sides", remedy=f"Give at most {len(SIDE_LETTERS)} at a time."
            )
        self._request = request
        self._planned: PlannedSuite = request.planned
        self._make_session = make_session
        self._began = time.monotonic()

    def seconds_left(self) -> float:
        """Return the seconds until the time limit, which holds from here on; infinite if there is none."""
        limit = self._request.settings.limit_seconds
        return math.inf if limit is None else self._began + limit - time.monotonic()

    def plan(self) -> WorkOrders:
        return self._planned.plan

    def titles(self) -> Mapping[str, str]:
        return short_titles(self._planned.plan.orders)

    def header(self, sides: Sequence[StartedSide]) -> dict[str, Any]:
        return comparison_header(self.plan(), sides, self._request.settings)

    def open(self, stack: contextlib.ExitStack, observer: Observer) -> tuple[StartedSide, ...]:
        self._request.check()
        worktrees = stack.enter_context(Worktrees())
        specs = self._request.specs
        observer.stage("making both environments" if len(specs) == 2 else f"making {len(specs)} environments")
        making = Making(observer.stage, self.seconds_left)
        resolved = resolve_environments(specs, worktrees, install=self._request.install, making=making)
        return tuple(
            StartedSide(each.name, stack.enter_context(self._make_session(self._environment(each.environment))), each)
            for each in resolved
        )

    def _environment(self, environment: Environment) -> Environment:
        """Return the environment with the code of the suite itself, which is the same on all sides."""
        return environment.with_code(self._planned.folders)

    def check(self, sides: Sequence[StartedSide], observer: Observer) -> CheckedPlan:
        """Start servers, prepare every side, run everything once on each, and collect failures and warnings."""
        observer.stage(f"starting {_all(sides)}")
        self._start_ahead(sides)
        observer.stage(f"preparing {_all(sides)}")
        prepared = _PreparedSides(sides, self._planned)
        left_out = frozenset[str]().union(*(each.no_device for each in prepared.plans))
        warnings = [*self._warnings(prepared), *([left_out_warning(len(left_out))] if left_out else [])]
        refused = freezing().refused_because
        if refused is not None:
            warnings.append(f"{refused}: every pair of processes has its own bias, so verdicts need more time")
        plan = [order for order in self._planned.plan if order.id not in left_out]
        observer.stage(f"checking that {_all(sides)} compute the same results")
        found = _Findings(sides, short_titles(self._planned.plan.orders))
        not_reached: list[WorkOrder] = []
        with private_folder("check") as folder:
            for done, order in enumerate(plan, start=1):
                if self.seconds_left() <= 0.0:
                    not_reached = plan[done - 1 :]
                    warnings.append(
                        f"the time limit was reached while checking the sides: {len(not_reached)} not checked"
                    )
                    break
                found.add(order, prepared.check(order, folder), prepared)
                observer.step(done, len(plan))
        warnings += found.problems()
        return dataclasses.replace(found.checked(), warnings=tuple(warnings), not_reached=tuple(not_reached))

    def _start_ahead(self, sides: Sequence[StartedSide]) -> None:
        kinds = list(dict.fromkeys(kind_of(order) for order in self._planned.plan))
        for side in sides:
            side.session.start_ahead(kinds)
        if not self._request.settings.instructions or len(sides) > (os.cpu_count() or 1):
            # More sides than cores are counted a few at a time: a server under Valgrind takes a gigabyte.
            return
        # Importing torch takes 15 s under Valgrind: these servers start while everything else is prepared and checked.
        # All counts of a revision may have been kept before.
        with contextlib.suppress(ToolMissing):
            for side in sides:
                if not KeptCounts.of(side.resolved).has_all(self._planned.plan):
                    side.session.start_ahead([SHOWS_FRAMES.with_imports_of(kind) for kind in kinds])

    def _warnings(self, prepared: _PreparedSides) -> list[str]:
        """Return what differs between the environments besides the code."""
        reference, *others = [plan.facts for plan in prepared.plans]
        if len(others) == 1:
            return [*environment_warnings(reference, others[0])]
        seen: dict[str, list[str]] = {}
        for side, facts in zip(prepared.sides[1:], others, strict=True):
            for warning in environment_warnings(reference, facts):
                # Different versions are intended here.
                if not warning.startswith("torch differs"):
                    seen.setdefault(warning, []).append(side.name)
        return [
            warning if len(names) == len(others) else f"{', '.join(names)}: {warning}"
            for warning, names in seen.items()
        ]


def _all(sides: Sequence[StartedSide]) -> str:
    return "both sides" if len(sides) == 2 else f"all {len(sides)} sides"


class _PreparedSides:
    """Every side with the plan, and the C++ probes that must be compiled, prepared on each."""

    def __init__(self, sides: Sequence[StartedSide], planned: PlannedSuite) -> None:
        self.sides = sides
        self._probes = planned.probes
        executors = [LocalExecutor(side.session) for side in sides]
        # Servers start at the same time; each step after that uses all cores.
        with ThreadPoolExecutor(len(sides)) as threads:
            facts = list(threads.map(lambda side: side.session.facts(), sides))
        cpp_probes = self._cpp_probes(planned)
        self.plans: list[PreparedPlan] = []
        self._built_probes: list[PreparedPlan] = []
        for executor, fact, letter in zip(executors, facts, SIDE_LETTERS, strict=False):
            ready = prepare(planned.plan, executor, fact, side=letter)
            built = tuple(probe for probe in cpp_probes if probe.id in ready.ready)
            self.plans.append(ready)
            self._built_probes.append(
                prepare(cpp_probes.only(built), executor, fact, side=letter, include_paths=[str(PROBE_FOLDER)])
            )

    def _cpp_probes(self, planned: PlannedSuite) -> WorkOrders:
        """Return no probes if all sides run the same code: compiling probes takes longer than most comparisons."""
        found = [
            with_result_path(probe, probe.id)
            for probe in planned.probes.values()
            if probe.args.language is Language.CPP
        ]
        builds = [
            (facts.torch_folder, facts.git_version, side.session.environment.variables)
            for side in self.sides
            for facts in (side.session.facts(),)
        ]
        if all(build == builds[0] for build in builds):
            # The same machine code, but a scripted model may come from a module that differs.
            paths = [side.session.environment.path for side in self.sides]
            differ = any(path != paths[0] for path in paths)
            found = [probe for probe in found if probe.model_id is not None and differ]
        return planned.plan.only(tuple(found))

    def check(self, order: WorkOrder, folder: Path) -> list[ProbeResult | WorkerError | Failure]:
        """Run an order on every side; nothing more if it fails on the reference, with which all are compared."""
        outcomes: list[ProbeResult | WorkerError | Failure] = []
        for place in range(len(self.sides)):
            outcomes.append(self._outcome(order, place, folder))
            if not isinstance(outcomes[0], ProbeResult | BenchmarkSkipped):
                break
        return outcomes

    def _outcome(self, order: WorkOrder, place: int, folder: Path) -> ProbeResult | WorkerError | Failure:
        side, failures = self.sides[place], self.plans[place].failures
        if order.id in failures:
            return failures[order.id]
        ready = self.plans[place].ready[order.id]
        try:
            if order.args.language is Language.CPP:
                run_once(side.session, ready)
                return _run_built_probe(side.session, self._built_probes[place], order.id, folder)
            return _run_probe(side, ready, self._probes.get(order.id), folder)
        except WorkerError as error:
            return error


class _Findings:
    """What the checks of all orders have found so far."""

    def __init__(self, sides: Sequence[StartedSide], titles: Mapping[str, str]) -> None:
        self._sides, self._titles = sides, titles
        self._names = [side.name for side in sides]
        self._load = os.getloadavg()[0]
        self._orders: list[WorkOrder] = []
        self._ready: dict[str, dict[int, ReadyOrder]] = {}
        self._failures: list[ComparisonFailure] = []
        self._skips: list[ComparisonSkip] = []
        self._warnings: dict[tuple[str, int], tuple[str, ...]] = {}
        self._seen: list[list[ProbeResult]] = [[] for _ in sides]
        self._seconds: dict[str, float | None] = {}

    def add(
        self, order: WorkOrder, outcomes: Sequence[ProbeResult | WorkerError | Failure], prepared: _PreparedSides
    ) -> None:
        reference, title = outcomes[0], self._titles[order.id]
        skipped = {place: each.message for place, each in enumerate(outcomes) if isinstance(each, BenchmarkSkipped)}
        if skipped:
            self._skips += skips_of(order.id, title, self._names, skipped)
        ready = {}
        for place, outcome in enumerate(outcomes):
            if isinstance(outcome, BenchmarkSkipped):
                continue
            if not isinstance(outcome, ProbeResult):
                self._failures.append(failure_of(order.id, title, self._names, place, outcome))
                continue
            ready[place] = prepared.plans[place].ready[order.id]
            self._seen[place].append(outcome)
            if place and isinstance(reference, ProbeResult):
                doubts = thread_warnings(order.args.num_threads, self._load)
                self._warnings[order.id, place] = (*order_warnings(reference, outcome), *doubts)
        if len(ready) > 1 and isinstance(reference, ProbeResult):
            self._seconds[order.id] = reference.seconds_per_run
            self._orders.append(order)
            self._ready[order.id] = ready

    def checked(self) -> CheckedPlan:
        return CheckedPlan(
            tuple(self._orders),
            self._ready,
            tuple(self._failures),
            order_warnings=self._warnings,
            seconds_per_run=self._seconds,
            skips=tuple(self._skips),
        )

    def problems(self) -> list[str]:
        """Return the warnings about all orders. Raise CannotRun if nothing runs on a side, for one common reason."""
        unbuilt = [error for place in range(len(self._sides)) if (error := self._not_built(place)) is not None]
        if self._orders:
            # The failures show their tracebacks; this says what they have in common.
            return [
                *(f"{error.message}. {error.remedy}" for error in unbuilt),
                *self._checkout_warnings(),
                *self._overlay_warnings(),
            ]
        for error in unbuilt:
            raise error
        reasons = {(each.place, each.message) for each in self._failures}
        if len(reasons) == 1 and len(self._failures) > 1:
            first = self._failures[0]
            raise CannotRun(
                f"none of the {len(self._failures)} benchmarks runs on {first.side or 'a side'}, "
                f"all for one reason: {first.message}",
                log=first.log,
                remedy="Nothing was measured. Correct it, or name another side.",
            )
        return []

    def _not_built(self, place: int) -> CannotRun | None:
        """Return the error of a side whose checkout failed because something in it is not compiled."""
        side = self._sides[place]
        failures = [each for each in self._failures if each.place == place] if side.checkout else []
        found = (needs_build(side.name, Path(side.checkout), each.message, each.log) for each in failures)
        return next((error for error in found if error is not None), None)

    def _overlay_warnings(self) -> list[str]:
        """Return a warning for each side whose added packages no benchmark imports."""
        if not any(order.args.language is Language.PYTHON for order in self._orders):
            return []
        laid = [side.resolved.overlay if side.resolved is not None else None for side in self._sides]
        return [
            overlay_warning(side.name, [name for name, _ in overlay.found])
            for side, overlay, seen in zip(self._sides, laid, self._seen, strict=True)
            if overlay is not None and overlay.found and not side.checkout and not any(each.modules for each in seen)
        ]

    def _checkout_warnings(self) -> tuple[str, ...]:
        if not self._orders or not all(side.checkout for side in self._sides):
            return ()
        first, *others = self._seen
        return checkout_warning(first, [result for side in others for result in side])


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
    """Run the statement once and inspect its results. `probe` is the order rewritten to write them, if there is one."""
    results = folder / "results.json"
    results.unlink(missing_ok=True)
    order = ready.order if probe is None else with_result_path(probe, str(results))
    prepare = preparation_of(side.session, dataclasses.replace(ready, order=order))
    with side.session.child(kind_of(order)) as child:
        child.ask(dataclasses.replace(prepare, path=(str(PROBE_FOLDER),)), order.timeout_seconds)
        seconds = child.ask(Time(1), order.timeout_seconds).seconds
        around = child.ask(LookAround(side.own_folder), order.timeout_seconds)
        found = _read(results)
        if seconds > SLOW_SECONDS:
            # A first run may load or compile something.
            seconds = min(seconds, child.ask(Time(1), order.timeout_seconds).seconds)
    return ProbeResult(
        found, tuple(around.modules), around.num_threads, around.flushes_denormals, seconds_per_run=seconds
    )


def _read(results: Path) -> Mapping[str, Sequence[Mapping[str, object]]] | None:
    # Python's own spelling of nan and inf is intended: the probe wrote the file.
    return json.loads(results.read_text(encoding="utf-8")) if results.exists() else None
