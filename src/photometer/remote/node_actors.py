"""NodeActors: one actor per node of a cluster: started, checked, restarted if it dies, dropped with its node.

All methods but `report` are called by one thread, which calls `attend` regularly to handle nodes that came or went. A
node must have the same torch and the same photometer as the driver: a difference is an error. Its counts must be equal
to those of others: a difference is reported with its cause.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import queue
import re
import secrets
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from photometer.errors import NodesGone, WorkerStartError
from photometer.execution.executor import Failure, MeasureOrder
from photometer.execution.workplace import Slot
from photometer.model.machine import Environment, Node, why_counts_differ
from photometer.remote.cluster import SHARED, Cluster, ClusterNode, import_ray, unpacked
from photometer.remote.node_worker import NodeFacts, NodeOutcome, NodeRequest, NodeWorker, own_code_digest
from photometer.worker.messages import TorchFacts
from photometer.worker.rank_guests import Invitations

# An actor that dies more often on one node is not started there again.
MOST_RESTARTS = 3
# The first node may be busy with other work, or still loading an image. The others may join later.
FIRST_NODE_SECONDS = 300.0
OTHER_NODES_SECONDS = 60.0
# How often to ask Ray for its nodes.
LOOK_SECONDS = 5.0
# Idle actors close within a second; on a busy machine two were not enough for those that measured when Ctrl-C came.
CLOSING_SECONDS = 10.0
# When it is time to say what is being waited for.
SILENT_SECONDS = 10.0
POLL_SECONDS = 0.02
# Ray's words for an actor that did not die, but could not be created.
IN_CONSTRUCTOR = "error raised in its creation task"


# The actor of a node that has ranks of a group that another node leads, its slot, and how many it has.
_Beside = tuple[Any, Slot, int]


class RayNode(NodeWorker):
    """The actor class: a NodeWorker that fetches files from Ray."""

    def __init__(self, request: NodeRequest, shipped: tuple[str, ...]) -> None:
        ray = import_ray()
        folders = unpacked(shipped, sys.path)
        super().__init__(dataclasses.replace(request, folders=folders), fetch=lambda refs: bytes(ray.get(refs[0])))

    def lead(self, work: MeasureOrder, files: Mapping[str, Any], beside: Sequence[_Beside]) -> NodeOutcome:
        """Measure an order whose last ranks are on other nodes."""
        ray = import_ray()
        key = secrets.token_hex(16)
        try:
            asked = [actor.host_ranks.remote(key, work, slot, files) for actor, slot, _ in beside]
            places: list[str | Failure] = ray.get(asked)
            failures = [place for place in places if isinstance(place, Failure)]
            hosts = [(str(place), count) for place, (_, _, count) in zip(places, beside, strict=True)]
            guests = Invitations(self._request.address, tuple(hosts), key)
            ready, *against = (dataclasses.replace(each, guests=guests) for each in (work.ready, *work.against))
            led = dataclasses.replace(work, ready=ready, against=tuple(against))
            outcome = NodeOutcome(failures[0]) if failures else self.execute(led, files)
        except ray.exceptions.RayError as error:
            return NodeOutcome(lost_node("a node of the group", error))
        try:
            ray.get([actor.end_ranks.remote(key) for actor, _, _ in beside])
        except ray.exceptions.RayError as error:
            # What was measured says nothing, if the group was broken.
            return NodeOutcome(lost_node("a node of the group", error))
        return outcome


def lost_node(name: str, why: object) -> Failure:
    return Failure("NodeLost", f"{name} was lost while measuring", log=str(why)[-2000:], lost=True)


@dataclasses.dataclass
class Member:
    """A node that is used, or starting: `facts` are None until it has reported them."""

    place: ClusterNode
    actor: Any
    facts: NodeFacts | None = None
    restarts: int = 0


@dataclasses.dataclass(frozen=True)
class _Event:
    """An actor has reported its facts, or was found dead."""

    name: str
    actor: Any
    hello: Future[NodeFacts] | None = None


@dataclasses.dataclass(frozen=True)
class Wanted:
    """The required nodes: environment, the driver's torch, how many at most, or one by its name."""

    environment: Environment
    driver: TorchFacts
    most_nodes: int | None = None
    uses_devices: bool = True
    actor_class: type[NodeWorker] = RayNode
    only: str | None = None
    most_restarts: int = MOST_RESTARTS


class NodeActors:
    def __init__(
        self,
        cluster: Cluster,
        wanted: Wanted,
        *,
        on_ready: Callable[[NodeFacts], object],
        on_lost: Callable[[str], object],
        on_remark: Callable[[str], object],
    ) -> None:
        self._ray = import_ray()
        self._cluster, self._wanted = cluster, wanted
        self._on_ready, self._on_lost, self._on_remark = on_ready, on_lost, on_remark
        self._code = own_code_digest()
        self._gone: set[str] = set()
        self._events: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        self._looked = 0.0
        self._is_under_way = False
        self.members: dict[str, Member] = {}

    @property
    def ready(self) -> dict[str, NodeFacts]:
        return {name: member.facts for name, member in self.members.items() if member.facts is not None}

    @property
    def starting(self) -> list[str]:
        return [name for name, member in self.members.items() if member.facts is None]

    def start(self) -> None:
        """Start an actor on every node; wait for the first, and for a limited time for the others."""
        began = time.monotonic()
        remarked = False
        self._look_for_nodes()
        while self.starting or not self.ready:
            self.attend()
            waited = time.monotonic() - began
            if waited > SILENT_SECONDS and not remarked:
                self._on_remark(self._waiting_words())
                remarked = True
            if self.ready and waited > OTHER_NODES_SECONDS:
                break
            if waited > FIRST_NODE_SECONDS:
                raise WorkerStartError(
                    f"no node was free within {FIRST_NODE_SECONDS:.0f} s",
                    remedy=f"Check what runs there (`ray status`), or declare nodes shared (the resource {SHARED}).",
                )
            time.sleep(POLL_SECONDS)
        self._is_under_way = True

    def _waiting_words(self) -> str:
        longest = OTHER_NODES_SECONDS if self.ready else FIRST_NODE_SECONDS
        return f"waiting for {', '.join(sorted(self.starting))} to be ready, up to {longest:.0f} s"

    def attend(self) -> None:
        """Handle nodes that joined, reported, or left."""
        with contextlib.suppress(queue.Empty):
            while True:
                event = self._events.get_nowait()
                member = self.members.get(event.name)
                if member is None or member.actor is not event.actor:
                    continue
                try:
                    self._take(event, member)
                except WorkerStartError as refused:
                    if not self._is_under_way or len(self.members) == 1:
                        raise
                    self._leave_out(event.name, member, refused)
        if not self.members or time.monotonic() - self._looked > LOOK_SECONDS:
            self._look_for_nodes()
        if not self.members:
            raise NodesGone(
                "no node is left", remedy="Use --resume when the cluster is back: nothing is measured twice."
            )

    def _take(self, event: _Event, member: Member) -> None:
        error = None if event.hello is None else event.hello.exception()
        if event.hello is not None and error is None:
            self._welcome(member, event.hello.result())
        else:
            self._lose(event.name, member, error)

    def _leave_out(self, name: str, member: Member, refused: WorkerStartError) -> None:
        """Do without a node that joined late and cannot be used: the others go on."""
        with contextlib.suppress(Exception):
            self._ray.kill(member.actor)
        self.members.pop(name)
        self._gone.add(name)
        self._on_remark(f"{refused.message}; it is left out")

    def report(self, name: str, actor: Any) -> None:
        """Report, from any thread, that an actor was found dead."""
        self._events.put(_Event(name, actor))

    def close(self) -> None:
        """End all actors and their servers. Actors are asked to close first, so that they leave no folder behind."""
        actors = [member.actor for member in self.members.values()]
        ready = [member.actor for member in self.members.values() if member.facts is not None]
        self.members.clear()
        with contextlib.suppress(Exception):
            closing = [actor.close.remote() for actor in ready]
            self._ray.wait(closing, num_returns=len(closing), timeout=CLOSING_SECONDS)
        for actor in actors:
            with contextlib.suppress(Exception):
                self._ray.kill(actor)

    def _look_for_nodes(self) -> None:
        self._looked = time.monotonic()
        places = self._cluster.nodes()
        alive = {place.name for place in places}
        # Nothing else reports the death of an idle node.
        for name, member in [each for each in self.members.items() if each[0] not in alive]:
            self._lose(name, member, None)
        for place in places:
            if self._wanted.most_nodes is not None and len(self.members) >= self._wanted.most_nodes:
                return
            if self._wanted.only not in (None, place.name):
                continue
            if place.name not in self.members and place.name not in self._gone:
                self.members[place.name] = Member(place, self._start(place))

    def _start(self, place: ClusterNode) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        # All of a node that is photometer's alone; of a shared one, others may need the rest.
        wanted = min(place.gpus, 1) if place.is_shared else place.gpus
        gpus = wanted if self._wanted.uses_devices else 0
        request = NodeRequest(
            place.name,
            self._wanted.environment,
            sys.executable,
            os.environ.get("PYTHONPATH", ""),
            cores=place.cpus,
            gpus=gpus,
            is_shared=place.is_shared,
            address=place.address,
        )
        resources = {SHARED: place.cpus} if place.is_shared else {}
        options = self._ray.remote(self._wanted.actor_class).options(
            # All CPUs of a node, so that Ray runs nothing else beside a timing; on a shared node, photometer's share.
            num_cpus=place.cpus,
            num_gpus=gpus,
            resources=resources,
            # One thread per core, and some for other requests.
            max_concurrency=place.cpus + 4,
            max_restarts=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(place.id, soft=False),
        )
        actor = options.remote(request, self._cluster.shipped)
        hello = actor.hello.remote().future()
        hello.add_done_callback(lambda future: self._events.put(_Event(place.name, actor, future)))
        return actor

    def _welcome(self, member: Member, facts: NodeFacts) -> None:
        check_software(self._wanted.driver, self._code, facts)
        member.facts = facts
        self._on_ready(facts)

    def _lose(self, name: str, member: Member, error: BaseException | None) -> None:
        self._on_lost(name)
        if error is not None and (not isinstance(error, _died(self._ray)) or IN_CONSTRUCTOR in str(error)):
            # It started but cannot be used; restarting would not help.
            raise WorkerStartError(
                f"{name} cannot measure: {_last_line(error)}",
                log=str(error),
                remedy="Install photometer and torch on all nodes, for example from one image.",
            )
        with contextlib.suppress(Exception):
            self._ray.kill(member.actor)
        if member.restarts < self._wanted.most_restarts and any(place.name == name for place in self._cluster.nodes()):
            self.members[name] = Member(member.place, self._start(member.place), restarts=member.restarts + 1)
            where = "there" if len(self.members) == 1 else "elsewhere"
            self._on_remark(f"{name}: its worker died and is restarted; its work is done {where}")
            return
        del self.members[name]
        self._gone.add(name)
        self._on_remark(f"{name} is gone; its work is done elsewhere")


def _died(ray: Any) -> tuple[type[BaseException], ...]:
    """Return the errors that say that an actor or its node has died."""
    found = ray.exceptions
    return (found.RayActorError, found.ActorUnschedulableError, found.NodeDiedError, found.WorkerCrashedError)


def _last_line(error: BaseException) -> str:
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


def check_software(driver: TorchFacts, driver_code: str, there: NodeFacts) -> None:
    """Raise if this node's results would not be comparable with the driver's."""
    name = there.node.name
    ours, theirs = _torch_of(driver), _torch_of(there.facts)
    differing = [key for key in ours if ours[key] != theirs[key]]
    if differing:
        words = ", ".join(f"{key} {theirs[key]} instead of {ours[key]}" for key in differing)
        raise WorkerStartError(
            f"{name} has a different torch than this machine: {words}",
            remedy="Start all nodes from one image, or use --python PATH with an interpreter that all nodes have.",
        )
    if there.code != driver_code:
        raise WorkerStartError(
            f"{name} has a different photometer than this machine",
            remedy="Install the same version on all nodes, for example from one image.",
        )


def _torch_of(facts: TorchFacts) -> dict[str, str]:
    # Which processor instructions torch uses depends on the node, and is a fact of the machine.
    build = "\n".join(line for line in facts.build.splitlines() if "CPU capability usage" not in line)
    return {
        "version": facts.torch,
        "commit": str(facts.git_version),
        "CUDA": str(facts.cuda),
        "debug": str(facts.debug),
        "Python": ".".join(re.findall(r"\d+", facts.python)[:2]),
        "build": build,
    }


def differing_counts(controls: Mapping[str, int], nodes: Mapping[str, Node]) -> list[str]:
    """Return one sentence per node whose count of the control statement differs from the most common one."""
    if len(set(controls.values())) < 2:
        return []
    values = list(controls.values())
    usual = max(dict.fromkeys(values), key=values.count)
    reference = next(name for name, count in controls.items() if count == usual)
    sentences = []
    for name, count in controls.items():
        if count == usual:
            continue
        causes = why_counts_differ(nodes[reference], nodes[name])
        cause = "; ".join(causes) if causes else "no known difference explains it"
        sentences.append(f"{name} counts {count - usual:+,} instructions relative to {usual:,} on {reference}: {cause}")
    return sentences
