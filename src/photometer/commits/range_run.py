"""Measure a range of commits for the history: those that are not stored yet, newest first, from coarse to fine.

In: a repository, a range, a suite, a store. Out: the outcome of each commit. It can be stopped at any moment and
started again: stored commits are skipped, and a half-measured one is continued. Suspected changes of time are confirmed
here too: the two commits around each are compared live, side by side, on this machine.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from photometer.commits.bisection import coarse_to_fine, spread
from photometer.commits.lane import CommitLane, CommitSource, OnNode
from photometer.definition import load_suite
from photometer.errors import DefinitionError, EnvironmentSpecError, NodesGone, PhotometerError, WorkerStartError
from photometer.execution.observer import RunObserver
from photometer.execution.run_file import RESULTS_NAME
from photometer.execution.run_settings import RunSettings
from photometer.history.nouns import Commit
from photometer.history.recorder import has_all
from photometer.history.repository import Repository
from photometer.history.store import open_store
from photometer.history.writing import Origin
from photometer.model.machine import Machine
from photometer.model.results_folder import RESULTS_FOLDER
from photometer.pipeline import RunReport, run_suite
from photometer.plan import materialize, select
from photometer.plan.selection import parse_expression
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS
from photometer.session.session import Session

if TYPE_CHECKING:
    from photometer.commits.lane import CommitNodes

from functools import cached_property

from photometer.analysis.comparison_result import EnvironmentComparison
from photometer.comparing.environments import live_comparison
from photometer.comparing.request import ComparisonRequest, ComparisonSettings, PlannedSuite, plan_suite
from photometer.comparing.source import Observer
from photometer.history.changes import Cause, Change

# Seconds of measuring per benchmark.
SECONDS = 20.0


@dataclasses.dataclass(frozen=True)
class _SomeOrders(ComparisonRequest):
    """Of the suite, the orders with these ids."""

    keys: frozenset[str] = frozenset()

    @cached_property
    def planned(self) -> PlannedSuite | None:
        assert self.suite is not None
        all_of_it = plan_suite(self.suite, self.expression, self.tags)
        orders = tuple(order for order in all_of_it.plan if order.id in self.keys)
        if not orders:
            raise DefinitionError(
                "the suite does not have the benchmarks of these changes any more",
                remedy="Name the suite that they were measured with.",
            )
        return PlannedSuite(all_of_it.plan.only(orders), all_of_it.probes)


def to_confirm(changes: Sequence[Change]) -> list[Change]:
    """Return the changes that a live comparison would decide."""
    return [change for change in changes if change.cause in (Cause.MACHINE, Cause.OPEN)]


def confirm(
    changes: Sequence[Change],
    suite: str,
    store: str,
    *,
    install: str | None = None,
    seconds: float = SECONDS,
    observer: Observer | None = None,
    on_pair: Callable[[str, str, int], None] = lambda old, new, count: None,
) -> tuple[tuple[EnvironmentComparison, ...], tuple[str, ...]]:
    """Compare each pair of commits once, for all benchmarks that are suspected there. Return verdicts and problems."""
    top = Repository().top
    pairs: dict[tuple[str, str], set[str]] = {}
    for change in to_confirm(changes):
        pairs.setdefault((change.last.commit.sha, change.first.commit.sha), set()).add(change.benchmark.key)
    verdicts, problems = [], []
    for (old, new), keys in pairs.items():
        on_pair(old, new, len(keys))
        try:
            request = _SomeOrders(
                (f"git:{old}@{top}", f"git:{new}@{top}"),
                suite,
                # Counts have been taken; the question is about time.
                ComparisonSettings(budget_seconds=seconds * len(keys), instructions=False, time="all"),
                install=install,
                store=store,
                keys=frozenset(keys),
            )
            with live_comparison(request, observer) as comparison:
                verdicts.append(comparison.run())
        except PhotometerError as error:
            problems.append(f"{old[:10]} and {new[:10]} could not be compared: {error.message}")
    return tuple(verdicts), tuple(problems)


FOLDER = RESULTS_FOLDER / "history"


@dataclasses.dataclass(frozen=True)
class RangeRequest:
    """Which commits to measure, and what of each. `folder` has a results folder per commit."""

    suite: str
    old: str
    new: str
    store: str
    settings: RunSettings
    every: int | None = None
    at_most: int | None = None
    expression: str | None = None
    tags: Collection[str] = ()
    install: str | None = None
    folder: Path = FOLDER
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS


@dataclasses.dataclass(frozen=True)
class CommitOutcome:
    """The outcome of one commit: measured (perhaps with failures), or not, and why."""

    commit: Commit
    report: RunReport | None = None
    error: str = ""

    @property
    def failures(self) -> int:
        return 0 if self.report is None else len(self.report.table.failures)


def parse_range(text: str) -> tuple[str, str]:
    """Return A and B of `git:A..B` or `A..B`; an empty B is HEAD."""
    old, dots, new = text.removeprefix("git:").partition("..")
    if not dots or not old or new.startswith(".") or old.startswith("-"):
        raise DefinitionError(f"{text!r} is not a range of commits", remedy="Write git:A..B, such as git:v1.0..main.")
    return old, new or "HEAD"


def chosen_commits(repository: Repository, request: RangeRequest) -> list[str]:
    """Return the commits of the range to measure, both ends included, in the order in which to measure them."""
    commits = (repository.resolve(request.old), *repository.between(request.old, request.new))
    taken = spread(len(commits), every=request.every, at_most=request.at_most)
    return [commits[taken[place]] for place in coarse_to_fine(len(taken))]


def run_range(
    request: RangeRequest,
    *,
    on_commit: Callable[[int, int, Commit], RunObserver | None] = lambda done, count, commit: None,
    nodes: CommitNodes | None = None,
) -> Iterator[CommitOutcome]:
    """Measure what is missing; yield the outcome of each commit. `on_commit` returns an observer of its run.

    With `nodes`, each of them measures commits, so that they do not end in the order in which they begin.
    """
    repository = Repository()
    if nodes is not None:
        yield from _range_over(nodes, repository, request, on_commit)
        return
    missing = _missing(repository, request)
    with CommitLane(
        repository.top,
        install=request.install,
        python=request.settings.environment.python,
        code=load_suite(request.suite).folders,
    ) as lane:
        for done, sha in enumerate(missing):
            commit = repository.commit(sha)
            observer = on_commit(done, len(missing), commit)
            yield measure_commit(lane, repository, commit, request, observer)


def _range_over(
    nodes: CommitNodes,
    repository: Repository,
    request: RangeRequest,
    on_commit: Callable[[int, int, Commit], RunObserver | None],
) -> Iterator[CommitOutcome]:
    missing = _missing(repository, request, nodes.machines())
    nodes.ship(repository.top, missing, request.install)
    begun = itertools.count()

    def measure(lane: CommitSource, sha: str) -> CommitOutcome:
        commit = repository.commit(sha)
        observer = on_commit(next(begun), len(missing), commit)
        return measure_commit(lane, repository, commit, request, observer)

    for measured in nodes.measure_all(missing, measure):
        if measured.error is not None:
            yield CommitOutcome(repository.commit(measured.sha), error=measured.error.message)
        else:
            yield measured.outcome


def measure_commit(
    lane: CommitSource,
    repository: Repository,
    commit: Commit,
    request: RangeRequest,
    observer: RunObserver | None = None,
) -> CommitOutcome:
    """Measure one commit into its folder and the store. A commit that does not build is an outcome, not an error."""
    try:
        there = lane.at(commit.sha)
    except EnvironmentSpecError as error:
        return CommitOutcome(commit, error=error.message)
    session = None if isinstance(there, OnNode) else there
    settings = request.settings
    if session is not None:
        settings = dataclasses.replace(settings, environment=session.environment)
    folder = request.folder / commit.sha[:12]
    origin = Origin(repository.project(), commit, branch=repository.branch(), source="history measure")

    def run(*, resume: bool) -> RunReport:
        return run_suite(
            request.suite,
            folder,
            settings,
            expression=request.expression,
            tags=request.tags,
            timeout_seconds=request.timeout_seconds,
            resume=resume,
            observer=observer,
            store=request.store or None,
            origin=origin,
            session=session,
            open_place=there.open_place if isinstance(there, OnNode) else None,
        )

    try:
        try:
            return CommitOutcome(commit, run(resume=True))
        except DefinitionError:
            if not (folder / RESULTS_NAME).exists():
                raise
            # What is there was measured with another suite or torch.
            return CommitOutcome(commit, run(resume=False))
    except NodesGone:
        raise
    except PhotometerError as error:
        if isinstance(error, WorkerStartError) and request.install is None:
            # Not the commit's fault: its code is imported later.
            raise
        return CommitOutcome(commit, error=error.message)


def _missing(repository: Repository, request: RangeRequest, machines: Sequence[Machine] = ()) -> list[str]:
    """Return the commits for which the store lacks a selected benchmark from one of the machines, or one like this."""
    # Mistakes in what the user wrote are known before a server is started.
    chosen = chosen_commits(repository, request)
    defined = load_suite(request.suite)
    if request.expression is not None:
        parse_expression(request.expression)
    with Session(request.settings.environment) as session:
        devices = session.facts().devices
    plan = select(materialize(defined, available_devices=devices), request.expression, request.tags)
    with open_store(request.store) as store:
        return [sha for sha in chosen if not has_all(store, sha, plan.orders, request.settings.steps, machines)]


def outcome_words(outcomes: Sequence[CommitOutcome]) -> str:
    """Return a summary in one line."""
    failed = [outcome for outcome in outcomes if outcome.error]
    words = f"{len(outcomes) - len(failed)} commits measured"
    return words + (f", {len(failed)} could not be" if failed else "")
