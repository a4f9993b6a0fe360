"""NodeSlots: which job may start on which node now. Pure bookkeeping: nothing runs here, and Ray is not used.

Counting, compiling and the like take one core. A timing takes a whole node; on a node that is declared shared, one
physical core per thread, so that no hyper-thread sibling is used meanwhile. Jobs for an accelerator go to nodes that
have one, each to one of its own; beside a timing there, nothing is timed but on others of the node's accelerators.
Times come only from machines of one type, and counts only from machines with the same CPU capability, C library and
Valgrind.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from photometer.errors import NodesGone
from photometer.execution.agenda import Job
from photometer.execution.observer import NodeState
from photometer.execution.workplace import DevicePool, Slot, on_device, quiet_lanes_of
from photometer.model.machine import Node
from photometer.plan.work_order import WorkOrder
from photometer.session.cores import CorePool
from photometer.worker.messages import TorchFacts

# Counts that wait on a node, so that no core is idle while the driver receives one result and sends the next job.
AHEAD = 1
# Titles shown per node, which may count on many cores at once.
TITLES_SHOWN = 2


@dataclasses.dataclass
class _Place:
    """A node, and its current work."""

    node: Node
    pool: CorePool
    devices: DevicePool
    running: list[Job] = dataclasses.field(default_factory=list)
    # How many of them are timings, or counts.
    quiet: int = 0
    counting: int = 0
    # Counting servers that it has started: one per simultaneous count.
    counting_servers: int = 0
    # Nothing new starts here: a timing waits for the whole node.
    is_draining: bool = False

    @property
    def quiet_lanes(self) -> int:
        """Return how many timings may run at once: on a node that is not shared, on as many accelerators."""
        return min(quiet_lanes_of(self.pool.cores), len(self.pool) if self.node.is_shared else self.devices.most)

    def has_device(self, job: Job) -> bool:
        """Return whether the accelerator that a job needs is free, if it needs one."""
        return not on_device(job) or (bool(self.node.gpus) and self.devices.has_room(job))

    def times_devices_alone(self) -> bool:
        """Return whether all that runs here are timings on accelerators."""
        return self.quiet == len(self.running) and all(map(on_device, self.running))

    def tally(self, job: Job, change: int) -> None:
        self.quiet += change * _is_timing(job)
        self.counting += change * (job.step.counts)


class NodeSlots:
    """`ranks_per_node`: how many ranks of a group a node may have; the others are on further nodes. None: all."""

    def __init__(self, ranks_per_node: int | None = None) -> None:
        self._ranks_per_node = ranks_per_node
        self._places: dict[str, _Place] = {}
        self._timing_type: str | None = None
        self._counting_type: str | None = None

    def add(self, node: Node, cores: tuple[int, ...], facts: TorchFacts | None = None) -> None:
        self._places[node.name] = _Place(node, CorePool(cores), DevicePool(facts))

    def remove(self, name: str) -> None:
        self._places.pop(name, None)

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Node]:
        return (place.node for place in self._places.values())

    @property
    def lanes(self) -> int:
        return sum(len(place.pool) for place in self._places.values())

    @property
    def quiet_lanes(self) -> int:
        return sum(place.quiet_lanes for place in self._timing_places())

    @property
    def widest(self) -> int:
        return max((len(place.pool) for place in self._timing_places()), default=1)

    @property
    def timing_type(self) -> str | None:
        """Return the machine type for timings: the most common one, chosen once."""
        if self._timing_type is None and self._places:
            self._timing_type = _most_common(place.node.type for place in self._places.values())
        return self._timing_type

    @property
    def counting_type(self) -> str | None:
        """Return the counting type for counts: the most common one among nodes with Valgrind, chosen once."""
        if self._counting_type is None and self._places:
            nodes = [place.node for place in self._places.values()]
            able = [node for node in nodes if node.valgrind] or nodes
            self._counting_type = _most_common(node.counting_type for node in able)
        return self._counting_type

    def take(self, job: Job) -> Slot | None:
        """Return where the job can start now; None if it must wait."""
        if len(parts := self.parts(job.order)) > 1:
            return self._take_several(job, parts)
        place = self._quiet_place(job) if _is_timing(job) else self._loud_place(job)
        if place is None:
            return None
        whole = _takes_whole(job, place.node)
        cores: tuple[int, ...] | None = ()
        if not _chooses_core(job, place.node):
            cores = place.pool.take(
                len(place.pool) if whole else min(job.cores, len(place.pool)),
                from_top=not place.node.is_shared and _is_timing(job),
            )
        if cores is None:
            return None
        place.is_draining = False
        place.running.append(job)
        place.tally(job, 1)
        place.counting_servers = max(place.counting_servers, place.counting)
        # The highest cores: the first one serves most interrupts.
        return place.devices.take(job, Slot(cores[-job.cores :] if whole else cores, place.node.name))

    def _take_several(self, job: Job, parts: Sequence[int]) -> Slot | None:
        """Return a node for each part of a group of ranks, all of its cores; None if not all are idle yet."""
        needed = max(parts)
        able = [
            place
            for place in self._timing_places()
            if not place.node.is_shared
            and (not on_device(job) or place.node.gpus)
            # What an idle node has not, it will never have.
            and (place.running or place.devices.has_room(job, needed))
        ]
        if len(able) < len(parts):
            assert job.order is not None
            raise self._too_few(job.order, len(able))
        able.sort(key=lambda place: len(place.running))
        chosen = able[: len(parts)]
        if any(place.running for place in chosen):
            for place in chosen:
                place.is_draining = True
            return None
        slots = []
        for place, ranks in zip(chosen, parts, strict=True):
            cores = place.pool.take(len(place.pool))
            assert cores is not None
            place.is_draining = False
            place.running.append(job)
            place.tally(job, 1)
            width = max(ranks * job.cores // sum(parts), 1)
            slots.append(place.devices.take(job, Slot(cores[-width:], place.node.name), ranks))
        return dataclasses.replace(slots[0], beside=tuple(slots[1:]))

    def parts(self, order: WorkOrder | None) -> list[int]:
        """Return how many ranks of an order each of its nodes has; one part if it is on one node."""
        ranks, most = 0 if order is None else order.auto.ranks, self._ranks_per_node
        if most is None or ranks <= most:
            return [ranks]
        return [most] * (ranks // most) + [ranks % most] * (ranks % most > 0)

    def check_room(self, plan: Iterable[WorkOrder]) -> None:
        """Raise if an order needs more nodes than there are."""
        there = sum(not place.node.is_shared for place in self._timing_places())
        for order in plan:
            if len(self.parts(order)) > max(there, 1):
                raise self._too_few(order, there)

    def _too_few(self, order: WorkOrder, there: int) -> NodesGone:
        return NodesGone(
            f"{order.auto.ranks} ranks, {self._ranks_per_node} per node, need {len(self.parts(order))} nodes that time "
            f"and are not shared; there are {there}",
            remedy="Allow more ranks per node, add nodes, or leave such variants out (-k).",
        )

    def give_back(self, job: Job, slot: Slot) -> None:
        for each in (slot, *slot.beside):
            self._give_back_one(job, each, is_whole=bool(slot.beside))

    def _give_back_one(self, job: Job, slot: Slot, *, is_whole: bool) -> None:
        place = self._places.get(slot.node)
        if place is None or job not in place.running:
            # The node was lost meanwhile; another one may have its name by now.
            return
        place.running.remove(job)
        place.tally(job, -1)
        place.devices.give_back(job, slot)
        is_whole = is_whole or _takes_whole(job, place.node)
        place.pool.give_back(place.pool.cores if is_whole else slot.cores)

    def states(self) -> tuple[NodeState, ...]:
        found = []
        for place in self._places.values():
            titles = tuple(job.title for job in place.running[:TITLES_SHOWN])
            more = len(place.running) - len(titles)
            found.append(NodeState(place.node.name, (*titles, *((f"{more} more",) if more else ()))))
        return tuple(found)

    def _timing_places(self) -> list[_Place]:
        return [place for place in self._places.values() if place.node.type == self.timing_type]

    def _quiet_place(self, job: Job) -> _Place | None:
        fit = [place for place in self._timing_places() if not on_device(job) or place.node.gpus]
        for place in fit:
            if not place.node.is_shared and not place.running:
                return place
            beside = place.node.is_shared or (on_device(job) and place.times_devices_alone())
            if beside and place.quiet < place.quiet_lanes and place.has_device(job):
                return place
        if not any(place.is_draining for place in fit):
            # Empty the node that will be free soonest, unless a timing will soon free one anyway.
            busy = [place for place in fit if not place.node.is_shared and not place.quiet]
            if busy and not any(place.quiet for place in fit):
                min(busy, key=lambda place: len(place.running)).is_draining = True
        return None

    def _loud_place(self, job: Job) -> _Place | None:
        fit = [
            place
            for place in self._places.values()
            if (place.node.is_shared or not place.quiet)
            and not place.is_draining
            and (not job.step.counts or place.node.counting_type == self.counting_type)
            and len(place.running) < len(place.pool) + AHEAD * _chooses_core(job, place.node)
            and place.has_device(job)
        ]
        if not fit:
            return None
        if job.step.counts:
            # Reusing a started server saves 15 s.
            started = [place for place in fit if place.counting < place.counting_servers]
            fit = started or fit
        return min(fit, key=lambda place: len(place.running) / len(place.pool))


def _most_common(types: Iterable[str]) -> str:
    """Return the most common type; ties are resolved always in the same way."""
    found = Counter(types)
    return max(found, key=lambda each: (found[each], each))


def _chooses_core(job: Job, node: Node) -> bool:
    """Return whether the node itself assigns a free core: counts do not depend on what runs beside them."""
    return job.step.counts and not node.is_shared


def _is_timing(job: Job) -> bool:
    return job.step.is_quiet or job.step.is_alone


def _takes_whole(job: Job, node: Node) -> bool:
    """Return whether a job has all cores of its node: a timing, but on an accelerator others may be timed beside it."""
    return _is_timing(job) and not node.is_shared and not on_device(job)
