"""Workplace: where the jobs of a run are done: it has slots, says which are free, and starts work in them.

LocalWorkplace has the cores of this machine and a thread for each; `remote/ray_workplace.py` has the nodes of a
cluster. The scheduler uses both in the same way.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from photometer.execution.agenda import MANY_CORES, Job
from photometer.execution.executor import Done, Executor, Failure, Work
from photometer.execution.observer import NodeState
from photometer.session.cores import CorePool, on_cores, share_no_core

# Timings at once: they share the memory and the last cache, so that more would measure each other.
CORES_PER_QUIET_LANE = 8


@dataclasses.dataclass(frozen=True)
class Slot:
    """The cores given to a job, on a node if there are several."""

    cores: tuple[int, ...]
    node: str = ""


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

    def __init__(self, executor: Executor, cores: Sequence[int], *, uses_device: bool) -> None:
        self._executor = executor
        self._pool = CorePool(cores)
        # There is one accelerator for all, so that nothing else may be timed beside it.
        self.quiet_lanes = 1 if uses_device else quiet_lanes_of(cores)
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
        cores = self._pool.take(job.cores, from_top=(job.step.is_quiet or job.step.is_alone))
        return None if cores is None else Slot(cores)

    def may_pass(self, job: Job) -> bool:
        # Its cores would never be free all at once.
        return False

    def give_back(self, job: Job, slot: Slot) -> None:
        self._pool.give_back(slot.cores)

    def submit(self, work: Work, slot: Slot) -> Future[Done | Failure]:
        return self._threads.submit(self._executor.execute, work)

    def states(self) -> tuple[NodeState, ...]:
        return ()

    def here(self) -> contextlib.AbstractContextManager[object]:
        # The scheduler's thread draws the progress bar: it keeps off the cores that are timed.
        return on_cores(self._pool.cores[:1])

    def end(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
