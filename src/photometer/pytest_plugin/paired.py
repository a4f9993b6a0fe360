"""PairedTests: start the sides of a comparison of tests, and judge the tests one by one on all of them.

    with PairedTests(request, tree) as paired:
        paired.judge(test, asked)

Each test is a comparison of one benchmark, with all stages of `photometer compare` (comparing/comparison.py). The
source differs: the servers are pytest processes that have stopped in the test.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from photometer.analysis.comparison_result import NOT_REACHED, ComparisonFailure, EnvironmentComparison, merged
from photometer.analysis.guards import ProbeResult, environment_warnings, noise_warnings, thread_warnings
from photometer.ci.acceptance import Acceptance, accept
from photometer.comparing.comparison import Comparison
from photometer.comparing.comparison_file import Destination
from photometer.comparing.request import ComparisonSettings
from photometer.comparing.source import CheckedPlan, Observer, StartedSide, comparison_header, failure_of, skips_of
from photometer.environments.needs_build import needs_build
from photometer.environments.resolved import MAKING, Making, ResolvedEnvironment, resolve_environments
from photometer.environments.spec import EnvironmentSpec
from photometer.environments.worktree import Worktrees
from photometer.errors import BenchmarkSkipped, CannotRun, PhotometerError, SnippetError, ToolMissing, WorkerError
from photometer.instruments.callgrind.counter import SHOWS_FRAMES
from photometer.instruments.ready_order import ReadyOrder
from photometer.model.visible_text import visible_line
from photometer.plan.work_order import OrderFigures, WorkOrder, WorkOrders
from photometer.pytest_plugin.measuring import order_of
from photometer.pytest_plugin.options import Asked
from photometer.pytest_plugin.session_tree import SessionTree
from photometer.pytest_plugin.stop_messages import Ended
from photometer.pytest_plugin.stopping_session import NotReached, StoppingSession
from photometer.session.session import ServerKind
from photometer.session.valgrind import find_valgrind
from photometer.worker.messages import LookAround, Time

SUITE = "pytest"
T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class PairedRequest:
    """Environments, the base first, and how to compare them; `settings` apply to all tests together."""

    specs: tuple[EnvironmentSpec, ...]
    settings: ComparisonSettings = dataclasses.field(default_factory=ComparisonSettings)
    file: Path | None = None
    store: str | None = None
    # What the branch's author accepts: such a test passes, and the reason is shown.
    accepted: tuple[Acceptance, ...] = ()
    # A command that installs a git revision into a fresh environment.
    install: str | None = None


@dataclasses.dataclass(frozen=True)
class JudgedTest:
    """The results of one test: its verdicts and failures, and how it ended on each side, base first.

    `skipped_because` says why it is not compared, if only the base is the reason.
    """

    test: str
    comparison: EnvironmentComparison
    skipped_because: str = ""
    ended: tuple[Ended, ...] = ()


class SaysMaking(Observer):
    """Prints which environments are made, which may take minutes; later progress is printed test by test."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say

    def stage(self, text: str) -> None:
        if text.startswith(MAKING):
            self._say(f"photometer: {visible_line(text)}")


class TestSource:
    """The sides are pytest processes; they compare the test in which they have stopped."""

    # Not a class of tests, whatever its name looks like to pytest.
    __test__ = False

    def __init__(self, request: PairedRequest, tree: SessionTree) -> None:
        self._request = request
        self._tree = tree
        self._test = ""
        self._order: WorkOrder | None = None
        self.sessions: tuple[StoppingSession, ...] = ()
        self.skipped_because = ""
        # The modules of checkouts that any test has imported.
        self.modules: set[str] = set()

    def move_to(self, test: str, asked: Asked) -> None:
        """Select the test for the next comparison."""
        order = order_of(test, asked)
        if asked.instructions is False:
            order = dataclasses.replace(order, figures=OrderFigures(instructions=False))
        self._test, self._order = test, dataclasses.replace(order, seed=self._request.settings.seed)
        self.skipped_because = ""
        for session in self.sessions:
            session.move_to(test)

    def plan(self) -> WorkOrders:
        return WorkOrders(SUITE, "", () if self._order is None else (self._order,))

    def titles(self) -> Mapping[str, str]:
        return {} if self._order is None else {self._order.id: self._test}

    def header(self, sides: Sequence[StartedSide]) -> dict[str, Any]:
        return comparison_header(self.plan(), sides, self._request.settings)

    def open(self, stack: contextlib.ExitStack, observer: Observer) -> tuple[StartedSide, ...]:
        worktrees = stack.enter_context(Worktrees(f"tests {self._tree.digest()}"))
        resolved = resolve_environments(
            self._request.specs, worktrees, install=self._request.install, making=Making(observer.stage)
        )
        self.sessions = tuple(self._session(each, worktrees, stack) for each in resolved)
        self._start_ahead()
        return tuple(
            StartedSide(each.name, session, _not_kept(each))
            for each, session in zip(resolved, self.sessions, strict=True)
        )

    def check(self, sides: Sequence[StartedSide], observer: Observer) -> CheckedPlan:
        """Take all sides to the test, and run what it measures once on each."""
        order = self._order
        assert order is not None
        outcomes = on_all(sides, lambda side: _reach(side, order))
        for side, outcome in zip(sides, outcomes, strict=True):
            _raise_if_not_built(side, outcome)
        self.skipped_because = why_skipped(outcomes)
        names = [side.name for side in sides]
        if self.skipped_because:
            everywhere = dict.fromkeys(range(len(names)), self.skipped_because)
            return CheckedPlan((), {}, skips=skips_of(order.id, self._test, names, everywhere))
        failures = [
            failure_of(order.id, self._test, names, place, outcome)
            for place, outcome in enumerate(outcomes)
            if isinstance(outcome, WorkerError)
        ]
        reached = {place: each for place, each in enumerate(outcomes) if isinstance(each, ProbeResult)}
        if 0 not in reached or len(reached) < 2:
            return CheckedPlan((), {}, tuple(failures))
        self.modules.update(*(each.modules for each in reached.values()))
        ready = {place: _ready(order, self.sessions[place]) for place in reached}
        facts = [self.sessions[place].facts() for place in reached]
        warnings = [text for other in facts[1:] for text in environment_warnings(facts[0], other)]
        doubts = thread_warnings(order.args.num_threads, os.getloadavg()[0])
        return CheckedPlan(
            (ready[0].order,),
            {order.id: ready},
            tuple(failures),
            tuple(dict.fromkeys(warnings)),
            {(order.id, place): doubts for place in reached},
            {order.id: reached[0].seconds_per_run},
        )

    def _session(
        self, resolved: ResolvedEnvironment, worktrees: Worktrees, stack: contextlib.ExitStack
    ) -> StoppingSession:
        folder = None if resolved.checkout is None else resolved.checkout.folder
        if resolved.is_installed:
            # Only the tests: the code is the installed one, and must not be found beside them.
            folder = worktrees.new_folder()
            self._tree.lay_over(folder)
        elif folder is not None and resolved.checkout is not None and resolved.checkout.tree_digest is None:
            self._tree.lay_over(folder)
        session = StoppingSession(resolved.environment, self._tree.settings(folder), self._tree.imports())
        stack.enter_context(session)
        return session

    def _start_ahead(self) -> None:
        """Start the processes of all sides now; under Valgrind they need half a minute to reach the first test."""
        for session in self.sessions:
            session.start_ahead([ServerKind()])
        if self._request.settings.instructions:
            for session in self.sessions:
                session.start_ahead([SHOWS_FRAMES])


class PairedTests:
    """Use as a context manager: environments and processes exist while the block runs."""

    def __init__(self, request: PairedRequest, tree: SessionTree, observer: Observer | None = None) -> None:
        self._warnings: tuple[str, ...] = ()
        if request.settings.instructions:
            try:
                find_valgrind()
            except ToolMissing as error:
                self._warnings = (f"instructions are not counted: {error.message}. {error.remedy or ''}".rstrip(),)
                settings = dataclasses.replace(request.settings, instructions=False)
                request = dataclasses.replace(request, settings=settings)
        self._request = request
        self._tree = tree
        self._source = TestSource(request, tree)
        # Each test is judged without knowing those that follow, so the rate is divided among all of them.
        rate = request.settings.false_discovery_rate / max(len(tree.tests), 1)
        settings = dataclasses.replace(request.settings, false_discovery_rate=rate)
        destination = Destination(file=request.file, store=request.store)
        self._comparison = Comparison(self._source, settings, destination, observer)

    def __enter__(self) -> PairedTests:
        self._comparison.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._comparison.__exit__(kind, value, trace)

    @property
    def names(self) -> tuple[str, ...]:
        return self._comparison.names

    def judge(self, test: str, asked: Asked) -> JudgedTest:
        """Take all sides to the test, judge it there, and let it end."""
        self._source.move_to(test, asked)
        self._comparison.accepted = tuple(each for each in self._request.accepted if each.reason_for(test) is not None)
        try:
            compared = self._comparison.run()
        except CannotRun:
            raise
        except PhotometerError as error:
            order_id = self._source.plan()[0].id
            failure = failure_of(order_id, test, self.names, None, error)
            self._comparison.file.keep(failure)
            compared = EnvironmentComparison(self.names, SUITE, (), (failure,))
        if compared.not_reached:
            order_id = self._source.plan()[0].id
            missing = tuple(ComparisonFailure(order_id, test, "", NOT_REACHED) for _ in compared.not_reached[:1])
            compared = dataclasses.replace(compared, failures=(*compared.failures, *missing), not_reached=())
        ended = tuple(on_all(self._comparison.sides, _finish))
        return JudgedTest(test, compared, self._source.skipped_because, ended)

    def conclude(self, judged: Sequence[JudgedTest]) -> EnvironmentComparison:
        """Return all verdicts together."""
        noise = {text for each in judged if each.comparison.noise for text in noise_warnings(each.comparison.noise)}
        whole = merged([each.comparison for each in judged])
        warnings = [text for text in whole.warnings if text not in noise]
        return accept(
            dataclasses.replace(
                whole,
                suite="tests",
                warnings=(*self._warnings, *warnings, *self._same_code_warning()),
                false_discovery_rate=self._request.settings.false_discovery_rate,
                noise=None,
            ),
            self._request.accepted,
        )

    def _same_code_warning(self) -> tuple[str, ...]:
        """Return a warning if the tests import nothing but each other from two checkouts: the code is then the same."""
        modules = self._source.modules
        if not all(side.checkout for side in self._comparison.sides) or not modules or self._tree.has_code(modules):
            return ()
        return (
            "the tests import nothing from the checkouts: both sides run the same installed code. If the package is "
            "deeper in the repository, add path:DIR to both sides",
        )


def on_all(sides: Sequence[StartedSide], work: Callable[[StartedSide], T]) -> list[T]:
    """Run the same on all sides at once."""
    with ThreadPoolExecutor(len(sides)) as threads:
        return list(threads.map(work, sides))


def _ready(order: WorkOrder, session: StoppingSession) -> ReadyOrder:
    """Return the order with the statement that a side calls."""
    args = dataclasses.replace(order.args, stmt=session.stopped().stmt, check=False)
    return ReadyOrder(dataclasses.replace(order, args=args))


def _reach(side: StartedSide, order: WorkOrder) -> ProbeResult | WorkerError:
    """Take a side to the test and run what it measures once."""
    session = side.session
    assert isinstance(session, StoppingSession)
    try:
        ready = _ready(order, session)
        with session.child() as child:
            child.ask(ready.preparation(), order.timeout_seconds)
            seconds = child.ask(Time(1), order.timeout_seconds).seconds
            around = child.ask(LookAround(side.checkout), order.timeout_seconds)
    except WorkerError as error:
        return error
    return ProbeResult(
        None, tuple(around.modules), around.num_threads, around.flushes_denormals, seconds_per_run=seconds
    )


def _raise_if_not_built(side: StartedSide, outcome: ProbeResult | WorkerError) -> None:
    """Raise CannotRun if a side's checkout lacks compiled parts: then no test can be compared."""
    if isinstance(outcome, WorkerError) and side.checkout:
        error = needs_build(side.name, Path(side.checkout), outcome.message, outcome.log or "")
        if error is not None:
            raise error


def why_skipped(outcomes: Sequence[ProbeResult | WorkerError]) -> str:
    """Return why a test is skipped: it skips itself, or only the base cannot run it. Empty if it can be compared."""
    base, *others = outcomes
    for outcome in (*others, base):
        if isinstance(outcome, NotReached) and outcome.ended.outcome == "skipped":
            return outcome.ended.text.removeprefix("Skipped: ")
        if isinstance(outcome, BenchmarkSkipped):
            return outcome.message
    if isinstance(base, SnippetError) and not any(isinstance(each, WorkerError) for each in others):
        last = (base.log or "").strip().splitlines()[-1:]
        return " ".join(["the base cannot run it:", base.message, *(f"({line.strip()})" for line in last)])
    return ""


def _finish(side: StartedSide) -> Ended:
    session = side.session
    assert isinstance(session, StoppingSession)
    try:
        return session.finish()
    except WorkerError as error:
        return Ended(session.test, "failed", str(error))


def _not_kept(resolved: ResolvedEnvironment) -> ResolvedEnvironment:
    """Return the side marked so that its counts are not kept: they depend on tests, which no revision identifies."""
    checkout = resolved.checkout
    if checkout is not None:
        checkout = dataclasses.replace(checkout, tree_digest=checkout.tree_digest or "with the tests of the session")
    overlay = resolved.overlay
    if overlay is not None:
        overlay = dataclasses.replace(overlay, is_over_sources=True)
    return dataclasses.replace(resolved, checkout=checkout, packages=None, overlay=overlay)
