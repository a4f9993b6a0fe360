"""Comparisons on a cluster: all sides of a benchmark run on one node; the benchmarks are divided among the nodes.

In: a ComparisonRequest and a workplace. Out: the verdicts of all shares as one comparison. A share that was lost with
its node is compared again on another. Times of different nodes are never compared: each verdict is about one machine.
A node judges its share as part of the whole suite, so that the false discovery rate holds for all benchmarks together.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from photometer.analysis.comparison_result import ComparisonFailure, ComparisonResult, EnvironmentComparison, merged
from photometer.comparing.comparison_file import FILE_NAME, ComparisonFile
from photometer.comparing.environments import live_comparison
from photometer.comparing.request import ComparisonRequest, PlannedSuite
from photometer.comparing.source import Observer
from photometer.environments.spec import WORKTREE, EnvironmentSpec, GitSource
from photometer.environments.worktree import resolve, top_of
from photometer.errors import DefinitionError, EnvironmentSpecError, NodesGone
from photometer.execution.scheduler import MOST_LOSSES
from photometer.model.results_reader import load_results
from photometer.plan.work_order import WorkOrder, short_titles
from photometer.remote.cluster import import_ray
from photometer.remote.node_worker import pack_commits, unpack_commits
from photometer.remote.ray_workplace import RayWorkplace
from photometer.session.left_behind import private_folder
from photometer.session.session import Session

_Found = TypeVar("_Found", bound=ComparisonFailure)
# Starting both sides under Valgrind takes as long as comparing this many benchmarks.
FEWEST_BENCHMARKS_PER_SHARE = 4


@dataclasses.dataclass(frozen=True)
class SharedRequest(ComparisonRequest):
    """A request whose sides and benchmarks are already resolved: nothing is looked up on the node."""

    pinned: tuple[EnvironmentSpec, ...] = ()
    share: PlannedSuite | None = None

    @cached_property
    def specs(self) -> tuple[EnvironmentSpec, ...]:
        return self.pinned

    @cached_property
    def planned(self) -> PlannedSuite | None:
        return self.share


@dataclasses.dataclass(frozen=True)
class ComparedShare:
    comparison: EnvironmentComparison
    header: Mapping[str, Any]
    records: tuple[Mapping[str, Any], ...]


def compare_share(
    session: Session, request: SharedRequest, commits: tuple[str, ...], pack: Sequence[Any]
) -> ComparedShare:
    """Compare live on this node. `pack` contains `commits`, from which both sides are checked out."""
    with private_folder("compare") as folder:
        sides = request.specs
        if commits:
            repository = unpack_commits(bytes(import_ray().get(pack[0])), commits, folder / "repository")
            sides = tuple(_moved(side, repository) for side in sides)
        output = folder / "comparison"
        here = dataclasses.replace(request, pinned=sides, output=output, resume=False, store=None)
        with live_comparison(here) as live:
            comparison = live.run()
        kept = load_results(output / FILE_NAME)
        return ComparedShare(comparison, kept.header, tuple(kept.records))


def compare_on_cluster(
    request: ComparisonRequest, place: RayWorkplace, observer: Observer | None = None
) -> EnvironmentComparison:
    """Compare all benchmarks of a request, except those whose verdicts are already in its folder."""
    if request.planned is None:
        raise DefinitionError("no suite is given", remedy="Name what to run: --suite SUITE.")
    with contextlib.ExitStack() as stack:
        return _Shares(request, request.planned, place, observer or Observer(), stack).run()


class _Shares:
    def __init__(
        self,
        request: ComparisonRequest,
        planned: PlannedSuite,
        place: RayWorkplace,
        observer: Observer,
        stack: contextlib.ExitStack,
    ) -> None:
        self._request, self._planned, self._place, self._observer, self._stack = (
            request,
            planned,
            place,
            observer,
            stack,
        )
        self._ray = import_ray()
        self._sides = pinned_sides(request)
        self._file: ComparisonFile | None = None
        self._done: list[EnvironmentComparison] = []
        self._running: dict[Any, tuple[str, Any, tuple[WorkOrder, ...]]] = {}
        self._losses: Counter[str] = Counter()

    def run(self) -> EnvironmentComparison:
        earlier = self._earlier()
        known = {each.order_id for each in earlier}
        orders = [order for order in self._planned.plan if order.id not in known]
        waiting = deque(shares_of(orders, len(self._place.nodes)))
        commits = tuple(dict.fromkeys(side.git.revision for side in self._sides if side.git is not None))
        pack = [self._ray.put(self._packed(commits))] if commits else []
        while waiting or self._running:
            self._place.attend()
            for name in self._idle():
                if waiting:
                    self._start(name, waiting.popleft(), commits, pack)
            self._show_progress(len(orders))
            done, _ = self._ray.wait(list(self._running), timeout=1.0) if self._running else ([], [])
            for ref in done:
                self._end(ref, waiting)
        return self._merged(earlier)

    def _packed(self, commits: Sequence[str]) -> bytes:
        repositories = {top_of(side.git) for side in self._request.specs if side.git is not None}
        if len(repositories) > 1:
            raise EnvironmentSpecError(
                "the sides come from two repositories", remedy="On a cluster, compare revisions of one repository."
            )
        return pack_commits(repositories.pop(), commits)

    def _idle(self) -> list[str]:
        busy = {name for name, _, _ in self._running.values()}
        nodes = self._place.nodes
        return [name for name, node in nodes.items() if name not in busy and node.type == self._place.timing_type]

    def _start(self, name: str, share: tuple[WorkOrder, ...], commits: tuple[str, ...], pack: Sequence[Any]) -> None:
        settings = self._request.settings
        part = len(share) / max(len(self._planned.plan), 1)
        budget = None if settings.budget_seconds is None else settings.budget_seconds * part
        ids = {order.id for order in share}
        probes = {order_id: probe for order_id, probe in self._planned.probes.items() if order_id in ids}
        request = SharedRequest(
            self._request.sides,
            None,
            dataclasses.replace(settings, budget_seconds=budget, judged_elsewhere=len(self._planned.plan) - len(share)),
            install=self._request.install,
            accepted=self._request.accepted,
            pinned=self._sides,
            share=PlannedSuite(self._planned.plan.only(share), probes),
        )
        actor = self._place.actors.members[name].actor
        self._running[actor.call.remote(compare_share, {}, request, commits, pack)] = (name, actor, share)

    def _end(self, ref: Any, waiting: deque[tuple[WorkOrder, ...]]) -> None:
        name, actor, share = self._running.pop(ref)
        try:
            compared: ComparedShare = self._ray.get(ref)
        except self._ray.exceptions.RayTaskError as error:
            raise (error.cause if isinstance(error.cause, Exception) else error) from None
        except self._ray.exceptions.RayError as error:
            self._place.actors.report(name, actor)
            first = share[0]
            self._losses[first.id] += 1
            if self._losses[first.id] > MOST_LOSSES:
                raise NodesGone(
                    f"{self._losses[first.id]} nodes were lost while they compared {first.title} and what follows it",
                    remedy="Find out why with `ray status`.",
                ) from error
            waiting.append(share)
            return
        self._keep(name, compared)
        self._done.append(compared.comparison)
        titles = short_titles(self._planned.plan.orders)
        for result in compared.comparison.results:
            self._observer.decided(titles[result.order_id], result.judged)

    def _keep(self, name: str, compared: ComparedShare) -> None:
        if self._request.output is None and self._request.store is None:
            return
        if self._file is None:
            description = {**compared.header["comparison"], "fingerprint": self._planned.plan.fingerprint}
            self._file = self._request.destination.open({"comparison": description}, self._stack)
        self._file.keep(self._place.nodes[name])
        self._file.keep_all({**record, "nodes": [name]} for record in compared.records)

    def _earlier(self) -> list[ComparisonResult]:
        """Return the verdicts in the folder, if the comparison is resumed."""
        path = None if self._request.output is None else Path(self._request.output) / FILE_NAME
        if path is None or not self._request.resume or not path.exists():
            return []
        return load_results(path, recover=True).of(ComparisonResult)

    def _show_progress(self, benchmarks: int) -> None:
        done = sum(len(each.rows) for each in self._done)
        self._observer.step(done, benchmarks)

    def _merged(self, earlier: Sequence[ComparisonResult]) -> EnvironmentComparison:
        settings = self._request.settings
        names = self._done[0].names if self._done else tuple(side.text for side in self._sides)
        before = EnvironmentComparison(
            names,
            self._planned.plan.suite,
            tuple({(each.order_id, each.side): each for each in earlier}.values()),
            margin=settings.common_margin,
            false_discovery_rate=settings.false_discovery_rate,
        )
        titles = short_titles(self._planned.plan.orders)
        whole = merged([before, *self._done])
        return dataclasses.replace(
            whole,
            results=tuple(dataclasses.replace(each, title=titles[each.order_id]) for each in whole.results),
            failures=tuple(_titled(each, titles) for each in whole.failures),
            skips=tuple(_titled(each, titles) for each in whole.skips),
        )


def _titled(found: _Found, titles: Mapping[str, str]) -> _Found:
    return dataclasses.replace(found, title=titles.get(found.order_id, found.title))


def shares_of(orders: Sequence[WorkOrder], nodes: int) -> list[tuple[WorkOrder, ...]]:
    """Return the orders in one share per node, or in fewer if a share would not justify starting both sides."""
    count = max(1, min(nodes, len(orders) // FEWEST_BENCHMARKS_PER_SHARE))
    return [tuple(orders[place::count]) for place in range(count)] if orders else []


def pinned_sides(request: ComparisonRequest) -> tuple[EnvironmentSpec, ...]:
    """Return all sides with revisions that are valid on every node. Raise if one cannot be measured elsewhere."""
    if not request.is_live:
        raise EnvironmentSpecError(
            "a results file cannot be compared on a cluster", remedy="Leave out --on: nothing is measured."
        )
    return tuple(map(_pinned, request.specs))


def _pinned(spec: EnvironmentSpec) -> EnvironmentSpec:
    """Return the side with its revision resolved to a full hash."""
    if spec.git is None:
        return spec
    if spec.git.revision == WORKTREE:
        raise EnvironmentSpecError(
            "a working tree cannot be sent to the nodes of a cluster", remedy="Commit it, and name the commit."
        )
    top = top_of(spec.git)
    return dataclasses.replace(spec, git=GitSource(resolve(top, spec.git.revision), top))


def _moved(spec: EnvironmentSpec, repository: Path) -> EnvironmentSpec:
    return spec if spec.git is None else dataclasses.replace(spec, git=GitSource(spec.git.revision, repository))
