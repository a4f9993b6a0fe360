"""PairedTests: start both sides of a comparison of tests, and judge the tests one by one on both.

    with PairedTests(request, tree) as paired:
        paired.judge(test, asked)

Each test is decided as `photometer compare` decides a benchmark: instructions first, alternating times, then its memory
and the code behind a change. The difference: the servers are pytest processes that have stopped in the test.
"""

from __future__ import annotations

import contextlib
import dataclasses
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

from photometer.analysis.cause import cause_sentence
from photometer.analysis.comparison_result import ComparisonFailure, ComparisonResult, EnvironmentComparison
from photometer.analysis.guards import ProbeResult, environment_warnings, thread_warnings
from photometer.ci.acceptance import Acceptance, accept
from photometer.comparing.comparison_file import ComparisonFile, recording
from photometer.comparing.decide import decide
from photometer.comparing.explain import Explanation, explain
from photometer.comparing.live import DEVICE_TIME
from photometer.comparing.memory import MemorySuite, measure_memory_of
from photometer.comparing.observer import Observer
from photometer.comparing.preflight import SIDE_NAMES, CheckedPlan, StartedSide, StartedSides
from photometer.comparing.request import ComparisonSettings
from photometer.environments.resolved import ResolvedEnvironment, resolve_environments
from photometer.environments.spec import EnvironmentSpec
from photometer.environments.worktree import Worktrees
from photometer.errors import PhotometerError, SnippetError, ToolMissing, WorkerError
from photometer.execution.executor import ReadyOrder
from photometer.execution.order_record import identified, task_spec_of
from photometer.execution.prepare import PreparedPlan
from photometer.instruments.callgrind.counter import SHOWS_FRAMES
from photometer.instruments.machine_facts import gather_machine
from photometer.model.records import to_record
from photometer.model.results_file import ResultsFile
from photometer.plan.order_figures import OrderFigures
from photometer.plan.work_order import WorkOrder
from photometer.pytest_plugin.measuring import order_of
from photometer.pytest_plugin.options import Asked
from photometer.pytest_plugin.session_tree import SessionTree
from photometer.pytest_plugin.stop_messages import Ended
from photometer.pytest_plugin.stopping_session import NotReached, StoppingSession
from photometer.session.cores import quietest_core
from photometer.session.session import ServerKind, Session
from photometer.session.valgrind import find_valgrind
from photometer.worker.messages import LookAround, Time


@dataclasses.dataclass(frozen=True)
class PairedRequest:
    """Two environments and how to compare them; `settings` apply to all tests together."""

    specs: tuple[EnvironmentSpec, EnvironmentSpec]
    settings: ComparisonSettings = dataclasses.field(default_factory=ComparisonSettings)
    file: Path | None = None
    store: str | None = None
    # What the branch's author accepts: such a test passes, and the reason is shown.
    accepted: tuple[Acceptance, ...] = ()


@dataclasses.dataclass(frozen=True)
class JudgedTest:
    """What is known about one test: its verdict, or why there is none, and how it ended, base first.

    `skipped_because` says why it is not compared, if the branch is not to blame.
    """

    test: str
    result: ComparisonResult | None = None
    failure: ComparisonFailure | None = None
    skipped_because: str = ""
    ended: tuple[Ended, Ended] | None = None
    measuring_seconds: float = 0.0


class PairedTests:
    """Use as a context manager: environments and processes exist while the block runs."""

    def __init__(self, request: PairedRequest, tree: SessionTree) -> None:
        self._request = request
        self._tree = tree
        self._open = contextlib.ExitStack()
        self._core = quietest_core()
        self.warnings: list[str] = []
        self.names = ("", "")
        self._sides: StartedSides
        self._sessions: tuple[StoppingSession, StoppingSession]
        self._file = ComparisonFile()
        self._modules: set[str] = set()

    def __enter__(self) -> PairedTests:
        with contextlib.ExitStack() as stack:
            worktrees = stack.enter_context(Worktrees())
            base, branch = resolve_environments(self._request.specs, worktrees)
            self.names = (base.name, branch.name)
            self._file = self._open_file(base, branch, stack)
            self._sessions = (self._session(base, stack), self._session(branch, stack))
            ours, theirs = self._sessions
            self._sides = (StartedSide(_not_kept(base), ours), StartedSide(_not_kept(branch), theirs))
            self._start_ahead()
            self._open = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.__exit__(kind, value, trace)

    def judge(self, test: str, asked: Asked) -> JudgedTest:
        """Take both sides to the test, judge it there, and let it end."""
        for session in self._sessions:
            session.move_to(test)
        judged = self._judge_stopped(test, asked)
        if judged.failure is not None:
            self._file.keep(judged.failure)
        ended = tuple(self._both(_finish))
        return dataclasses.replace(judged, ended=(ended[0], ended[1]))

    def conclude(self, judged: Sequence[JudgedTest]) -> EnvironmentComparison:
        """Return all verdicts together."""
        settings = self._request.settings
        comparison = EnvironmentComparison(
            base=self.names[0],
            branch=self.names[1],
            suite="tests",
            results=tuple(each.result for each in judged if each.result is not None),
            failures=tuple(each.failure for each in judged if each.failure is not None),
            warnings=(*dict.fromkeys(self.warnings), *self._same_code_warning()),
            margin=settings.common_margin,
            false_discovery_rate=settings.false_discovery_rate,
            measuring_seconds=sum(each.measuring_seconds for each in judged),
        )
        return accept(comparison, self._request.accepted)

    def _same_code_warning(self) -> tuple[str, ...]:
        """Return a warning if the tests import nothing but each other from two checkouts: the code is then the same."""
        if not all(side.checkout for side in self._sides) or not self._modules or self._tree.has_code(self._modules):
            return ()
        return (
            "the tests import nothing from the checkouts: both sides run the same installed code. If the package is "
            "deeper in the repository, add path:DIR to both sides",
        )

    def _judge_stopped(self, test: str, asked: Asked) -> JudgedTest:
        order = _counted(order_of(test, asked), asked)
        base, branch = self._both(lambda side: _reach(side, order))
        reason = why_skipped(base, branch)
        if reason:
            return JudgedTest(test, skipped_because=reason)
        # If both sides fail, the branch's failure is reported.
        for name, outcome in ((SIDE_NAMES[1], branch), (SIDE_NAMES[0], base)):
            if isinstance(outcome, WorkerError):
                return JudgedTest(test, failure=_failure(order, test, name, outcome))
        self._modules.update(*(each.modules for each in (base, branch) if isinstance(each, ProbeResult)))
        try:
            return self._measure(test, order)
        except PhotometerError as error:
            return JudgedTest(test, failure=_failure(order, test, "", error))

    def _measure(self, test: str, order: WorkOrder) -> JudgedTest:
        checked, titles, observer = self._checked(order), {order.id: test}, Observer()
        settings = self._request.settings
        # Each test is judged without knowing those that follow, so the rate is divided among all of them.
        rate = settings.false_discovery_rate / max(len(self._tree.tests), 1)
        settings = dataclasses.replace(settings, false_discovery_rate=rate)
        decided = decide(self._sides, checked, settings, titles, self._file, self._core, observer)
        self.warnings += decided.counted.warnings
        if 0 in decided.failed:
            raise decided.failed[0]
        verdict = decided.verdicts[0]
        if verdict is None:
            failure = ComparisonFailure(order.id, test, "", "not reached within the budget", "")
            return JudgedTest(test, failure=failure, measuring_seconds=decided.measuring_seconds)
        memory = measure_memory_of(self._sides, checked, observer) if settings.memory else MemorySuite()
        changed = [each for each in decided.changed if not each.auto.on_device]
        found = (
            explain(self._sides, checked, decided.counted, changed, settings.layouts, self._file, self._core, observer)
            if settings.instructions
            else Explanation()
        )
        change = found.counts.get(order.id)
        cause = DEVICE_TIME if order.auto.on_device else cause_sentence(verdict, change, ())
        warnings = checked.order_warnings[order.id]
        result = ComparisonResult(order.id, test, verdict, cause, change, (), warnings, memory.changes.get(order.id))
        alone = EnvironmentComparison(*self.names, "tests", (result,))
        (result,) = accept(alone, self._request.accepted).results
        record = {**to_record(result), "task_spec": to_record(task_spec_of(order)), "test": test}
        self._file.keep(identified(record, order))
        return JudgedTest(test, result, measuring_seconds=decided.measuring_seconds)

    def _checked(self, order: WorkOrder) -> CheckedPlan:
        """Return the test as a plan of one order, with the statement that each side calls."""
        import os

        prepared = []
        for session in self._sessions:
            args = dataclasses.replace(order.args, stmt=session.stopped().stmt, check=False)
            ready = ReadyOrder(dataclasses.replace(order, args=args))
            prepared.append(PreparedPlan(session.facts(), {order.id: ready}, {}))
        base, branch = prepared
        self.warnings += environment_warnings(base.facts, branch.facts)
        doubts = thread_warnings(order.args.num_threads, os.getloadavg()[0])
        return CheckedPlan((base.ready[order.id].order,), (), (), {order.id: doubts}, (base, branch))

    def _both(self, work: Any) -> list[Any]:
        with ThreadPoolExecutor(2) as threads:
            return list(threads.map(work, self._sides))

    def _session(self, resolved: ResolvedEnvironment, stack: contextlib.ExitStack) -> StoppingSession:
        folder = None if resolved.checkout is None else resolved.checkout.folder
        if folder is not None and resolved.checkout is not None and resolved.checkout.tree_digest is None:
            self._tree.lay_over(folder)
        session = StoppingSession(resolved.environment, self._tree.settings(folder))
        stack.enter_context(session)
        return session

    def _start_ahead(self) -> None:
        """Start the processes of both sides now; under Valgrind they need half a minute to reach the first test."""
        for session in self._sessions:
            session.start_ahead([ServerKind()])
        if self._request.settings.instructions:
            try:
                find_valgrind()
            except ToolMissing as error:
                self.warnings.append(f"instructions are not counted: {error.message}. {error.remedy or ''}".rstrip())
                settings = dataclasses.replace(self._request.settings, instructions=False)
                self._request = dataclasses.replace(self._request, settings=settings)
                return
            for session in self._sessions:
                session.start_ahead([SHOWS_FRAMES])

    def _open_file(
        self, base: ResolvedEnvironment, branch: ResolvedEnvironment, stack: contextlib.ExitStack
    ) -> ComparisonFile:
        description: Mapping[str, Any] = {
            "id": uuid.uuid4().hex,
            "base": base.identity(),
            "branch": branch.identity(),
            "suite": "pytest",
            "fingerprint": "",
            "margin": self._request.settings.common_margin,
            "false_discovery_rate": self._request.settings.false_discovery_rate,
        }
        file = ComparisonFile()
        if self._request.file is not None:
            header = {"comparison": dict(description)}
            file = ComparisonFile(
                ResultsFile.create(self._request.file, header, machine=gather_machine(), overwrite=True)
            )
        if self._request.store is not None:
            file = recording(file, description, self._request.store)
            stack.enter_context(file.recorder or contextlib.nullcontext())
        return file


def _reach(side: StartedSide, order: WorkOrder) -> ProbeResult | WorkerError:
    """Take a side to the test and run what it measures once."""
    session = side.session
    assert isinstance(session, StoppingSession)
    try:
        stopped = session.stopped()
        ready = ReadyOrder(
            dataclasses.replace(order, args=dataclasses.replace(order.args, stmt=stopped.stmt, check=False))
        )
        with session.child() as child:
            child.ask(ready.preparation(), order.timeout_seconds)
            child.ask(Time(1), order.timeout_seconds)
            around = child.ask(LookAround(side.checkout), order.timeout_seconds)
    except WorkerError as error:
        return error
    return ProbeResult(None, tuple(around.modules), around.num_threads, around.flushes_denormals)


def why_skipped(base: ProbeResult | WorkerError, branch: ProbeResult | WorkerError) -> str:
    """Return why a test is skipped: it skips itself, or only the base cannot run it. Empty if it can be compared."""
    for outcome in (branch, base):
        if isinstance(outcome, NotReached) and outcome.ended.outcome == "skipped":
            return outcome.ended.text.removeprefix("Skipped: ")
    if isinstance(base, SnippetError) and not isinstance(branch, WorkerError):
        last = (base.log or "").strip().splitlines()[-1:]
        return " ".join(["the base cannot run it:", base.message, *(f"({line.strip()})" for line in last)])
    return ""


def _failure(order: WorkOrder, test: str, side: str, error: PhotometerError) -> ComparisonFailure:
    return ComparisonFailure(order.id, test, side, error.message, error.log or "")


def _finish(side: StartedSide) -> Ended:
    session: Session = side.session
    assert isinstance(session, StoppingSession)
    try:
        return session.finish()
    except WorkerError as error:
        return Ended(session.test, "failed", str(error))


def _counted(order: WorkOrder, asked: Asked) -> WorkOrder:
    return (
        dataclasses.replace(order, figures=OrderFigures(instructions=False)) if asked.instructions is False else order
    )


def _not_kept(resolved: ResolvedEnvironment) -> ResolvedEnvironment:
    """Return the side marked so that its counts are not kept: they depend on tests, which no revision identifies."""
    checkout = resolved.checkout
    if checkout is not None:
        checkout = dataclasses.replace(checkout, tree_digest=checkout.tree_digest or "with the tests of the session")
    return dataclasses.replace(resolved, checkout=checkout, packages=None)
