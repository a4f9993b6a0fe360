"""Workplace: where the jobs of a run are done: it has slots, says which are free, and starts work in them.

LocalWorkplace has the cores of this machine and a thread for each; `remote/ray_workplace.py` has the nodes of a
cluster. The scheduler uses both in the same way.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from photometer.execution.agenda import MANY_CORES, Job
from photometer.execution.executor import Done, Executor, Failure, MeasureOrder, Work
from photometer.execution.observer import NodeState
from photometer.session.cores import CorePool, on_cores, share_no_core
from photometer.worker.accelerators import hiding_variable
from photometer.worker.messages import TorchFacts

# Timings at once: they share the memory and the last cache, so that more would measure each other.
CORES_PER_QUIET_LANE = 8


@dataclasses.dataclass(frozen=True)
class Slot:
    """The cores given to a job, on a node if there are several."""

    cores: tuple[int, ...]
    node: str = ""
    # The accelerators that it has to itself, by number.
    devices: tuple[int, ...] = ()
    # Whether the node has others of the kind, which it must not see.
    hides_devices: bool = False
    # For the other ranks of a group that is spread over several nodes, in their order.
    beside: tuple[Slot, ...] = ()

    @property
    def visible_devices(self) -> tuple[int, ...]:
        """Return the accelerators that a process here may see; nothing for all."""
        return self.devices if self.hides_devices else ()

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(each.node for each in (self, *self.beside) if each.node)

    def give(self, work: Work) -> Work:
        """Return the work with the accelerators of this slot."""
        if not self.visible_devices or not isinstance(work, MeasureOrder):
            return work
        seen = self.visible_devices
        ready, *against = (dataclasses.replace(each, visible_devices=seen) for each in (work.ready, *work.against))
        return dataclasses.replace(work, ready=ready, against=tuple(against))


def on_device(job: Job) -> bool:
    return job.order is not None and job.order.auto.on_device


class DevicePool:
    """The accelerators of one machine, by kind and number: a job takes one, or one per rank.

    Only those that are like the first of their kind are used: times of others could not stand beside them.
    """

    def __init__(self, facts: TorchFacts | None = None) -> None:
        # Of kinds that a machine has several of; all others have one, number 0.
        self._alike: dict[str, set[int]] = {}
        self._free: dict[str, set[int]] = {}
        models = {} if facts is None else facts.device_models
        for device, model in models.items():
            kind, _, number = device.partition(":")
            if hiding_variable(kind, os.environ) is None:
                continue
            self._free.setdefault(kind, set()).add(int(number))
            if model == models[f"{kind}:0"]:
                self._alike.setdefault(kind, set()).add(int(number))

    @property
    def most(self) -> int:
        """Return how many jobs for one device can run at the same time."""
        return max(map(len, self._alike.values()), default=1)

    def has_room(self, job: Job, ranks: int | None = None) -> bool:
        """Return whether the accelerators that a job needs are free; one for the CPU needs none.

        `ranks` are those of its ranks that are on this machine, if not all of them.
        """
        return self._wanted(job, ranks) is not None

    def take(self, job: Job, slot: Slot, ranks: int | None = None) -> Slot:
        """Return the slot with the job's accelerators, which are then in use. There must be room."""
        wanted = self._wanted(job, ranks)
        assert wanted is not None
        if not wanted:
            return slot
        kind, named = _device_of(job)
        self._of_kind(kind).difference_update(wanted)
        # An order that names its device by number must see them all.
        return dataclasses.replace(slot, devices=wanted, hides_devices=kind in self._alike and named is None)

    def give_back(self, job: Job, slot: Slot) -> None:
        if slot.devices:
            self._of_kind(_device_of(job)[0]).update(slot.devices)

    def _wanted(self, job: Job, ranks: int | None) -> tuple[int, ...] | None:
        if not on_device(job):
            return ()
        assert job.order is not None
        kind, named = _device_of(job)
        free = self._of_kind(kind)
        if kind not in self._alike:
            # Ranks share it out among themselves.
            return (0,) if free else None
        if named is not None:
            return (named,) if named in free else None
        wanted = max(job.order.auto.ranks if ranks is None else ranks, 1)
        alike = sorted(free & self._alike[kind])
        return tuple(alike[:wanted]) if len(alike) >= wanted else None

    def _of_kind(self, kind: str) -> set[int]:
        return self._free.setdefault(kind, {0})


def _device_of(job: Job) -> tuple[str, int | None]:
    """Return the kind of accelerator of a job, and its number if the order names one."""
    assert job.order is not None
    kind, _, number = job.order.auto.device.partition(":")
    return kind, int(number) if number else None


class Workplace(Protocol):
    @property
    def lanes(self) -> int:
        """How many jobs can run at the same time."""

    @property
    def quiet_lanes(self) -> int:
        """How many of them can be timings."""

    @property
    def widest(self) -> int:
        """How many cores one job can have."""

    @property
    def is_waiting(self) -> bool:
        """Whether there may be slots later although nothing runs: nodes are starting."""

    @property
    def times_beside_others(self) -> bool:
        """Whether other work may run during timings: on other cores, or on other nodes."""

    @property
    def prepares_first(self) -> bool:
        """Whether timings would block the work that others wait for, because they take whole nodes."""

    def take(self, job: Job) -> Slot | None:
        """Return where the job can start now; None if it cannot yet."""

    def may_pass(self, job: Job) -> bool:
        """Whether others may start before this job for several cores, which found no slot."""

    def give_back(self, job: Job, slot: Slot) -> None: ...

    def submit(self, work: Work, slot: Slot) -> Future[Done | Failure]: ...

    def states(self) -> tuple[NodeState, ...]:
        """Return the work of each node; nothing if there is only this machine."""

    def here(self) -> contextlib.AbstractContextManager[object]:
        """Return the context in which the scheduler itself runs."""

    def end(self) -> None:
        """Start nothing more."""


def quiet_lanes_of(cores: Sequence[int]) -> int:
    """Return how many timings may run at once on these cores of a machine."""
    return max(1, len(cores) // CORES_PER_QUIET_LANE)


class LocalWorkplace:
    """The cores of this machine. Timings get the highest ones, with one lane for every eight cores."""

    def __init__(
        self, executor: Executor, cores: Sequence[int], *, uses_device: bool, facts: TorchFacts | None = None
    ) -> None:
        self._executor = executor
        self._pool = CorePool(cores)
        self._devices = DevicePool(facts)
        # Beside an accelerator nothing is timed but on others that are like it.
        self.quiet_lanes = min(quiet_lanes_of(cores), self._devices.most if uses_device else len(cores))
        # Two cores of a virtual machine may be one, and they share a cache.
        self.times_beside_others = len(cores) >= MANY_CORES and share_no_core(cores)
        self._threads = ThreadPoolExecutor(len(cores) + 1)

    @property
    def lanes(self) -> int:
        return len(self._pool)

    @property
    def widest(self) -> int:
        return len(self._pool)

    @property
    def is_waiting(self) -> bool:
        return False

    @property
    def prepares_first(self) -> bool:
        return False

    def take(self, job: Job) -> Slot | None:
        if not self._devices.has_room(job):
            return None
        cores = self._pool.take(job.cores, from_top=(job.step.is_quiet or job.step.is_alone))
        return None if cores is None else self._devices.take(job, Slot(cores))

    def may_pass(self, job: Job) -> bool:
        # Its cores would never be free all at once.
        return False

    def give_back(self, job: Job, slot: Slot) -> None:
        self._pool.give_back(slot.cores)
        self._devices.give_back(job, slot)

    def submit(self, work: Work, slot: Slot) -> Future[Done | Failure]:
        return self._threads.submit(self._executor.execute, work)

    def states(self) -> tuple[NodeState, ...]:
        return ()

    def here(self) -> contextlib.AbstractContextManager[object]:
        # The scheduler's thread draws the progress bar: it keeps off the cores that are timed.
        return on_cores(self._pool.cores[:1])

    def end(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
