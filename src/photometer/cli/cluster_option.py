"""The options --on and --nodes of commands that measure, and the cluster that they select."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.printing import complain

if TYPE_CHECKING:
    from photometer.analysis.comparison_result import EnvironmentComparison
    from photometer.commits.lane import CommitNodes
    from photometer.comparing.request import ComparisonRequest
    from photometer.comparing.source import Observer
    from photometer.execution.observer import NodeState
    from photometer.model.machine import Environment
    from photometer.pipeline import OpenPlace
    from photometer.remote.cluster import Cluster
    from photometer.remote.node_actors import Wanted

On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="CLUSTER",
        help="Measure on a Ray cluster: ray (one on this machine), ray://HOST:10001, or auto (the one here).",
    ),
]
Nodes = Annotated[int | None, typer.Option("--nodes", metavar="N", min=1, help="Maximum number of nodes, with --on.")]

RanksPerNode = Annotated[
    int | None,
    typer.Option(
        "--ranks-per-node",
        metavar="N",
        min=1,
        help="Maximum number of a group's ranks on one node, with --on; the others are on further nodes.",
    ),
]

# More do not fit below a progress bar.
NODES_SHOWN = 8


@contextlib.contextmanager
def joined(on: str | None, nodes: int | None, importable: Iterable[str] = ()) -> Iterator[Cluster | None]:
    """Yield the cluster, started or joined; None without --on."""
    if on is None:
        if nodes is not None:
            raise typer.BadParameter("--nodes needs --on CLUSTER")
        yield None
        return
    from photometer.remote.cluster import Cluster

    with Cluster(on, importable=importable) as cluster:
        yield cluster


def place_on(
    cluster: Cluster | None, nodes: int | None, environment: Environment, *, ranks_per_node: int | None = None
) -> OpenPlace | None:
    """Return a function that opens the cluster's workplace for a run; messages for the user go to the error channel."""
    if cluster is None:
        if ranks_per_node is not None:
            raise typer.BadParameter("--ranks-per-node needs --on CLUSTER")
        return None
    from photometer.remote.ray_workplace import RayWorkplace

    wanted = _wanted(environment, nodes)
    return lambda: RayWorkplace(cluster, wanted, on_remark=complain, ranks_per_node=ranks_per_node)


@contextlib.contextmanager
def commit_nodes(on: str | None, nodes: int | None, environment: Environment) -> Iterator[CommitNodes | None]:
    """Yield the nodes that measure commits; None without --on."""
    with joined(on, nodes, environment.importable) as cluster:
        if cluster is None:
            yield None
            return
        from photometer.remote.commits import RayCommitNodes

        yield RayCommitNodes(cluster, _wanted(environment, nodes), complain)


def _wanted(environment: Environment, nodes: int | None) -> Wanted:
    """Return the requirements for nodes: the environment, and its torch here."""
    from photometer.remote.node_actors import Wanted
    from photometer.session.session import Session

    with Session(environment) as session:
        return Wanted(environment, session.facts(), nodes)


def refuse_on_cluster(on: str | None, nodes: int | None, given: Mapping[str, object]) -> None:
    """Raise if an option is given that a comparison on a cluster does not have."""
    if on is None and nodes is not None:
        raise typer.BadParameter("--nodes needs --on CLUSTER")
    for option, value in given.items():
        if on is not None and value:
            raise typer.BadParameter(f"{option} cannot be used with --on: it is for comparisons on this machine")


def compare_on(on: str, nodes: int | None, request: ComparisonRequest, observer: Observer) -> EnvironmentComparison:
    """Compare on a cluster; flame graphs are not drawn there."""
    from photometer.model.machine import Environment
    from photometer.remote.comparisons import compare_on_cluster, pinned_sides
    from photometer.remote.ray_workplace import RayWorkplace

    # Refuse what cannot be sent before anything is started.
    pinned_sides(request)
    observer.stage("starting nodes")
    environment = Environment.current()
    with joined(on, nodes, environment.importable) as cluster:
        assert cluster is not None
        with RayWorkplace(cluster, _wanted(environment, nodes), complain) as place:
            observer.stage(f"comparing on nodes: {', '.join(place.nodes)}")
            return compare_on_cluster(request, place, observer)


def node_lines(nodes: Iterable[NodeState]) -> list[str]:
    """Return a line for each node: its name and its work."""
    lines = [f"{node.name}: {', '.join(node.now) or node.word}" for node in nodes]
    more = len(lines) - NODES_SHOWN
    return lines if more <= 0 else [*lines[:NODES_SHOWN], f"and {more} more nodes"]
