"""RayWorkplace: the nodes of a cluster behind the scheduler's interface. One actor per node owns its servers.

If a node is lost, only the work it was doing is lost, and another node does it. Nodes that join later are used. What
one node made and others need (scripted models, and C++ built once per toolchain) is kept by Ray; a node fetches what
it does not have. All methods are called by one thread, unless they say otherwise.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any

from photometer.execution.agenda import Job
from photometer.execution.executor import BuildSnippets, Done, Failure, MeasureOrder, Work
from photometer.execution.import_check import check_imports
from photometer.execution.observer import NodeState
from photometer.execution.workplace import Slot
from photometer.instruments.cpp.snippet import BuiltSnippet
from photometer.model.machine import Machine, Node
from photometer.plan.work_order import WorkOrders
from photometer.remote.cluster import Cluster, import_ray
from photometer.remote.node_actors import POLL_SECONDS, NodeActors, Wanted, differing_counts, lost_node
from photometer.remote.node_slots import NodeSlots
from photometer.remote.node_worker import NodeFacts, NodeOutcome, ShippedCommits
from photometer.worker.messages import TorchFacts


class RayWorkplace:
    """Use as a context manager: nodes are started when it is entered. `on_remark` gets messages for the user."""

    times_beside_others = True
    prepares_first = True

    def __init__(
        self,
        cluster: Cluster,
        wanted: Wanted,
        on_remark: Callable[[str], object] = lambda text: None,
        *,
        ranks_per_node: int | None = None,
    ) -> None:
        self._ray = import_ray()
        self._on_remark = on_remark
        self._keep_node: Callable[[Node], object] | None = None
        self._slots = NodeSlots(ranks_per_node)
        self._ranks_per_node = ranks_per_node
        self._files = SharedFiles(self._ray.put)
        self._controls: dict[str, int] = {}
        # Facts of the commit that the only node of this workplace measures now.
        self._commit_facts: TorchFacts | None = None
        self._remarked: set[str] = set()
        self.actors = NodeActors(
            cluster,
            wanted,
            on_ready=self._welcome,
            on_lost=self._slots.remove,
            on_remark=self._remark,
        )

    def __enter__(self) -> RayWorkplace:
        try:
            self.actors.start()
        except BaseException:
            self.actors.close()
            raise
        others = [node for node in self._slots if node.type != self._slots.timing_type]
        if others:
            types = ", ".join(sorted({node.type for node in others}))
            self._remark(f"times are measured on {self._slots.timing_type} only; not on {len(others)} nodes ({types})")
        others = [node for node in self._slots if node.counting_type != self._slots.counting_type]
        if others:
            types = "; ".join(sorted({node.counting_type for node in others}))
            self._remark(
                f"instructions are counted with {self._slots.counting_type} only; not on {len(others)} nodes ({types})"
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.actors.close()

    def keep_nodes(self, keep: Callable[[Node], object]) -> None:
        """From now on, keep a record of each node before any of its results."""
        self._keep_node = keep
        for node in self._slots:
            keep(node)

    @property
    def nodes(self) -> dict[str, Node]:
        return {name: facts.node for name, facts in self.actors.ready.items()}

    @property
    def facts(self) -> TorchFacts:
        """Return the facts of the nodes' torch, with all kinds of accelerator on any of them."""
        if self._commit_facts is not None:
            return self._commit_facts
        all_facts = [each.facts for each in self.actors.ready.values()]
        devices = {device for facts in all_facts for device in facts.devices}
        if self._ranks_per_node is not None:
            # A group may have those of several nodes, so many of each.
            kinds = Counter(kind for facts in all_facts for kind in self._spread_kinds(facts))
            devices |= {f"{kind}:{number}" for kind, count in kinds.items() for number in range(count)}
        return dataclasses.replace(all_facts[0], devices=sorted(devices))

    def _spread_kinds(self, facts: TorchFacts) -> Iterator[str]:
        """Yield the kind of each accelerator of a node that a group of several nodes may use."""
        numbered = Counter(device.partition(":")[0] for device in facts.devices if ":" in device)
        for kind, count in numbered.items():
            yield from [kind] * min(count, self._ranks_per_node or count)

    @property
    def timing_machine(self) -> Machine | None:
        """Return the machine that times are measured on, for the header of a results file."""
        return next((node.machine for node in self._slots if node.type == self._slots.timing_type), None)

    @property
    def timing_type(self) -> str | None:
        return self._slots.timing_type

    @property
    def lanes(self) -> int:
        return max(self._slots.lanes, 1)

    @property
    def quiet_lanes(self) -> int:
        return max(self._slots.quiet_lanes, 1)

    @property
    def widest(self) -> int:
        return self._slots.widest

    @property
    def is_waiting(self) -> bool:
        self.attend()
        return bool(self.actors.starting)

    def take(self, job: Job) -> Slot | None:
        self.attend()
        return self._slots.take(job)

    def may_pass(self, job: Job) -> bool:
        # One node is being emptied for it; the others continue.
        return True

    def give_back(self, job: Job, slot: Slot) -> None:
        self._slots.give_back(job, slot)

    def submit(self, work: Work, slot: Slot) -> Future[Done | Failure]:
        """Send the work to the slot's node. C++ is built once per toolchain."""
        facts = self.actors.ready.get(slot.node)
        toolchain = "" if facts is None else facts.node.toolchain
        if slot.beside:
            return self._lead(work, slot)
        sent = self._send(self._files.as_built_by(toolchain, work), slot.node)
        if not isinstance(work, BuildSnippets):
            return sent
        builders = {node.toolchain: name for name, node in self.nodes.items() if node.toolchain != toolchain}
        others = {other: self._send(work, name) for other, name in builders.items()}
        return self._files.all_built(sent, others) if others else sent

    def _lead(self, work: Work, slot: Slot) -> Future[Done | Failure]:
        """Send the work of a group of ranks to the node of the first ones, with where the others are."""
        assert isinstance(work, MeasureOrder)
        parts = self._slots.parts(work.order)
        beside = []
        for each, count in zip(slot.beside, parts[1:], strict=True):
            if (member := self.actors.members.get(each.node)) is None:
                return _ended(lost_node(each.node, "it is gone"))
            beside.append((member.actor, each, count))
        return self._send(work, slot.node, beside)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run `function(session, *arguments)` on a node for timings, and on another one if that is lost."""
        while True:
            self.attend()
            names = [each.name for each in self._slots if each.type == self._slots.timing_type]
            if not names:
                time.sleep(POLL_SECONDS)
                continue
            actor = self.actors.members[names[0]].actor
            try:
                return self._ray.get(actor.call.remote(function, self._files.needed(None), *arguments))
            except self._ray.exceptions.RayTaskError as error:
                raise (error.cause if isinstance(error.cause, Exception) else error) from None
            except self._ray.exceptions.RayError:
                self.actors.report(names[0], actor)

    def check_imports(self, plan: WorkOrders) -> None:
        self._slots.check_room(plan)
        self.call(lambda session: check_imports(plan, session))

    def enter_commit(self, commits: ShippedCommits, pack: list[Any], sha: str) -> Failure | None:
        """Switch the only node of this workplace to a commit; return why it cannot be measured, if so."""
        self.attend()
        ((name, member),) = self.actors.members.items()
        try:
            entered: TorchFacts | Failure = self._ray.get(member.actor.enter_commit.remote(commits, pack, sha))
        except self._ray.exceptions.RayTaskError:
            raise
        except self._ray.exceptions.RayError:
            self.actors.report(name, member.actor)
            self.attend()
            raise
        if isinstance(entered, Failure):
            return entered
        self._commit_facts = entered
        return None

    def attend(self) -> None:
        """Handle nodes that joined or left, and compare their counts."""
        self.actors.attend()
        if len(set(self._controls.values())) > 1:
            for text in differing_counts(self._controls, self.nodes):
                self._remark(text)

    def states(self) -> tuple[NodeState, ...]:
        starting = (NodeState(name, word="starting") for name in self.actors.starting)
        return (*self._slots.states(), *starting)

    def here(self) -> contextlib.AbstractContextManager[object]:
        return contextlib.nullcontext()

    def end(self) -> None:
        """Do nothing: this workplace has its nodes until it is left."""

    def _send(self, work: Work, name: str, beside: Sequence[tuple[Any, Slot, int]] = ()) -> Future[Done | Failure]:
        made: Future[Done | Failure] = Future()
        member = self.actors.members.get(name)
        if member is None:
            return _ended(lost_node(name, "it is gone"))
        actor, files = member.actor, self._files.needed(work)
        try:
            sent = (actor.lead.remote(work, files, beside) if beside else actor.execute.remote(work, files)).future()
        except self._ray.exceptions.RayError as error:
            self.actors.report(name, actor)
            return _ended(lost_node(name, error))
        sent.add_done_callback(lambda future: self._arrived(name, actor, future, made))
        return made

    def _arrived(self, name: str, actor: Any, sent: Future[NodeOutcome], made: Future[Done | Failure]) -> None:
        """Take a node's outcome. One of Ray's threads calls this, so it must not call Ray."""
        try:
            outcome = sent.result()
        except self._ray.exceptions.RayTaskError as error:
            made.set_exception(error)
        except BaseException as error:
            self.actors.report(name, actor)
            made.set_result(lost_node(name, error))
        else:
            self._files.add(outcome.files)
            if outcome.control is not None:
                self._controls[name] = outcome.control
            made.set_result(outcome.outcome)

    def _welcome(self, facts: NodeFacts) -> None:
        self._slots.add(facts.node, facts.cores, facts.facts)
        if self._keep_node is not None:
            self._keep_node(facts.node)

    def _remark(self, text: str) -> None:
        if text not in self._remarked:
            self._remarked.add(text)
            self._on_remark(text)


def _ended(failure: Failure) -> Future[Done | Failure]:
    made: Future[Done | Failure] = Future()
    made.set_result(failure)
    return made


class SharedFiles:
    """Takes what nodes made, and returns for a piece of work the files that must be on its node first."""

    def __init__(self, put: Callable[[bytes], Any]) -> None:
        self._put = put
        self._made: dict[str, bytes] = {}
        self._refs: dict[str, Any] = {}
        # By toolchain: what replaces the library that the first one built.
        self._built: dict[str, dict[BuiltSnippet, BuiltSnippet]] = {}

    def add(self, files: Mapping[str, bytes]) -> None:
        """Take files that a node made. This does not call Ray: one of Ray's threads may call it."""
        self._made.update(files)

    def needed(self, work: Work | None) -> dict[str, list[Any]]:
        """Return references to the files that the work needs, in lists: Ray does not resolve references inside one."""
        if isinstance(work, MeasureOrder):
            library = None if work.ready.built is None else str(work.ready.built.library)
            models = [ready.model_path for ready in (work.ready, *work.against)]
            wanted = [path for path in (*models, library) if path is not None]
        else:
            # C++ may load any of the models when it is built or run.
            wanted = [path for path in (*self._made, *self._refs) if path.endswith(".pt")]
        return {path: [self._ref(path)] for path in wanted if path in self._made or path in self._refs}

    def as_built_by(self, toolchain: str, work: Work) -> Work:
        """Return the work with the library that this toolchain has built."""
        if not isinstance(work, MeasureOrder) or work.ready.built is None:
            return work
        replacement = self._built.get(toolchain, {}).get(work.ready.built)
        if replacement is None:
            return work
        return dataclasses.replace(work, ready=dataclasses.replace(work.ready, built=replacement))

    def all_built(
        self, first: Future[Done | Failure], others: Mapping[str, Future[Done | Failure]]
    ) -> Future[Done | Failure]:
        """Return the builds of all toolchains as one: a snippet that one of them cannot compile is a failure."""
        made: Future[Done | Failure] = Future()
        left = [first, *others.values()]

        def on_one(future: Future[Done | Failure]) -> None:
            left.remove(future)
            if not left:
                made.set_result(self._merged(first.result(), {name: each.result() for name, each in others.items()}))

        for future in tuple(left):
            future.add_done_callback(on_one)
        return made

    def _merged(self, first: Done | Failure, others: Mapping[str, Done | Failure]) -> Done | Failure:
        if isinstance(first, Failure):
            return first
        merged = list(first.outcomes)
        for toolchain, outcome in others.items():
            if isinstance(outcome, Failure):
                return outcome
            for place, (ours, theirs) in enumerate(zip(first.outcomes, outcome.outcomes, strict=True)):
                if isinstance(theirs, Failure):
                    merged[place] = theirs
                elif not isinstance(ours, Failure):
                    self._built.setdefault(toolchain, {})[ours] = theirs
        return Done(outcomes=tuple(merged))

    def _ref(self, path: str) -> Any:
        if path not in self._refs:
            self._refs[path] = self._put(self._made.pop(path))
        return self._refs[path]
