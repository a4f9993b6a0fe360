"""Many commits over the nodes of a cluster. One node measures all of a commit, so that its figures are comparable.

In: a cluster, a range of commits. Out: their outcomes, in order of completion. If a node is lost, another one
continues its commit from the results that were kept.
"""

from __future__ import annotations

import contextlib
import dataclasses
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from photometer.analysis.comparison_result import EnvironmentComparison
from photometer.commits.lane import CommitSource, Measured, OnNode
from photometer.comparing.request import ComparisonRequest
from photometer.errors import EnvironmentSpecError, NodesGone
from photometer.execution.executor import Failure
from photometer.execution.scheduler import MOST_LOSSES
from photometer.model.machine import Machine
from photometer.remote.cluster import Cluster, import_ray
from photometer.remote.comparisons import compare_on_cluster
from photometer.remote.node_actors import Wanted
from photometer.remote.node_worker import ShippedCommits, pack_commits
from photometer.remote.ray_workplace import RayWorkplace

POLL_SECONDS = 0.2
# After Ctrl-C a thread may be in the middle of a run; its servers end with its node's actor.
JOIN_SECONDS = 10.0


class RayCommitNodes:
    """The nodes of a cluster that measure commits of a repository. Commits are sent only once."""

    def __init__(
        self, cluster: Cluster, wanted: Wanted, on_remark: Callable[[str], object] = lambda text: None
    ) -> None:
        self._cluster, self._wanted, self._on_remark = cluster, wanted, on_remark
        self._pack: list[Any] = []
        self._shipped = ShippedCommits(())

    def ship(self, repository: Path, shas: Sequence[str], install: str | None) -> None:
        """Put the files of these commits where nodes can fetch them."""
        if set(shas) <= set(self._shipped.shas):
            return
        self._shipped = ShippedCommits(tuple(shas), install)
        self._pack = [import_ray().put(pack_commits(repository, shas))]

    @property
    def names(self) -> list[str]:
        names = [node.name for node in self._cluster.nodes()]
        return names if self._wanted.most_nodes is None else names[: self._wanted.most_nodes]

    def machines(self) -> list[Machine]:
        """Return the machines that would measure."""
        with RayWorkplace(self._cluster, self._wanted, self._on_remark) as place:
            return [node.machine for node in place.nodes.values()]

    def lane(self, name: str) -> NodeLane:
        wanted = dataclasses.replace(self._wanted, only=name, most_nodes=1, most_restarts=0)
        return NodeLane(RayWorkplace(self._cluster, wanted, self._on_remark), self._shipped, self._pack)

    def any_lane(self) -> NodeLane:
        """Return a lane on the largest node."""
        names = self.names
        if not names:
            raise NodesGone("the cluster has no node with a CPU", remedy="See what it has: `ray status`.")
        return self.lane(names[0])

    def measure_all(self, shas: Sequence[str], measure: Callable[[CommitSource, str], Any]) -> Iterator[Measured]:
        """Yield what `measure(lane, sha)` returns for each commit as it completes, with one thread per node."""
        return over_nodes(self, shas, measure)


class NodeLane:
    """One node that measures commits one by one; `at(sha)` is valid until the next call."""

    def __init__(self, place: RayWorkplace, shipped: ShippedCommits, pack: list[Any]) -> None:
        self.place, self._shipped, self._pack = place, shipped, pack

    def at(self, sha: str) -> OnNode:
        failure = self.place.enter_commit(self._shipped, self._pack, sha)
        if isinstance(failure, Failure):
            raise EnvironmentSpecError(failure.message, log=failure.log, remedy=failure.remedy)
        return OnNode(lambda: contextlib.nullcontext(self.place))

    def compare(self, request: ComparisonRequest) -> EnvironmentComparison:
        return compare_on_cluster(request, self.place)

    def __enter__(self) -> NodeLane:
        self.place.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.place.__exit__(kind, value, trace)


def over_nodes(
    nodes: RayCommitNodes, shas: Sequence[str], measure: Callable[[CommitSource, str], Any]
) -> Iterator[Measured]:
    """Yield what `measure(lane, sha)` returns for each commit as it completes, with one thread per node."""
    with _NodeThreads(nodes, shas, measure) as threads:
        for _ in shas:
            found = threads.next()
            if found is None:
                break
            yield found
        yield from (Measured(sha, error=NodesGone("no node is left that could measure it")) for sha in threads.left())


class _NodeThreads:
    """One thread per node, each of which takes the next waiting commit. Use as a context manager."""

    def __init__(self, nodes: RayCommitNodes, shas: Sequence[str], measure: Callable[[CommitSource, str], Any]) -> None:
        self._nodes, self._measure = nodes, measure
        self._waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        for sha in shas:
            self._waiting.put(sha)
        self._done: queue.SimpleQueue[Measured | BaseException] = queue.SimpleQueue()
        self._is_over = threading.Event()
        self._threads = [
            threading.Thread(target=self._serve, args=(name,), name=name, daemon=True) for name in nodes.names
        ]

    def __enter__(self) -> _NodeThreads:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join(JOIN_SECONDS)

    def next(self) -> Measured | None:
        """Return the next outcome; None if there will be no more. Raise an error that stops all nodes."""
        while True:
            # Checked first: whatever a thread put before it ended is then in the queue.
            can_come = any(thread.is_alive() for thread in self._threads)
            try:
                found = self._done.get(timeout=POLL_SECONDS)
            except queue.Empty:
                if can_come:
                    continue
                return None
            if isinstance(found, BaseException):
                raise found
            return found

    def left(self) -> Iterator[str]:
        with contextlib.suppress(queue.Empty):
            while True:
                yield self._waiting.get_nowait()

    def _serve(self, name: str) -> None:
        for _ in range(1 + MOST_LOSSES):
            try:
                with self._nodes.lane(name) as lane:
                    if self._measure_all(lane):
                        return
            except NodesGone:
                continue
            except BaseException as error:
                # A PhotometerError here is a problem of how nodes are set up, not of the commit.
                self._done.put(error)
                return

    def _measure_all(self, lane: NodeLane) -> bool:
        """Measure waiting commits until none is left. A commit that was lost with its node waits again."""
        while not self._is_over.is_set():
            try:
                sha = self._waiting.get_nowait()
            except queue.Empty:
                return True
            try:
                self._done.put(Measured(sha, self._measure(lane, sha)))
            except NodesGone:
                self._waiting.put(sha)
                raise
        return True
