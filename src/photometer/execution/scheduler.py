"""run_plan: a plan in, records out, each the moment it is there. The Scheduler gives jobs cores and threads.

Wall-time work has its cores to itself. If it wants several (one per thread), nothing new is started until they are
free; such work comes last, so that this happens once. Everything else fills the cores that are left.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from photometer.execution.agenda import MEASURING_STEPS, QUIET_STEPS, Agenda, Job
from photometer.execution.executor import Done, Executor, Failure, Step, Work
from photometer.execution.observer import NullObserver, RunObserver, RunState, TimeLeft
from photometer.execution.order_record import failure_record, identified
from photometer.execution.prepare import Preparation
from photometer.execution.run_settings import RunSettings
from photometer.plan.work_order import WorkOrder, WorkOrders
from photometer.session.cores import CorePool, on_cores, usable_cores
from photometer.worker.messages import TorchFacts

# Timings at once: they share the memory and the last cache, so that more would measure each other.
CORES_PER_QUIET_LANE = 8
# A counting server takes some 15 s to start, as long as this many counts: it must be worth it.
COUNTS_WORTH_A_SERVER = 20
# How often the observer hears of a run in which nothing finishes.
LOOK_SECONDS = 0.25

Running = dict["Future[Done | Failure]", tuple[Job, tuple[int, ...], float]]


def run_plan(
    plan: WorkOrders,
    settings: RunSettings,
    executor: Executor,
    facts: TorchFacts,
    on_record: Callable[[dict[str, Any]], object],
    *,
    finished: Collection[tuple[str, str]] = (),
    observer: RunObserver | None = None,
) -> int:
    """Measure what is not finished. `facts` are the executor's own. Return how many orders failed."""
    cores = usable_cores(settings.cores)
    agenda = Agenda(plan, [Step(name) for name in settings.steps], finished=finished, cores=len(cores))
    preparation = Preparation(plan, facts)

    def work_for(job: Job, cores: tuple[int, ...]) -> Work:
        assert job.order is not None
        return preparation.measuring(
            job.step, job.order, min_run_time=settings.min_run_time, repeats=settings.repeats, cores=cores
        )

    return run_agenda(agenda, executor, preparation, work_for, cores, on_record, observer)


def run_agenda(
    agenda: Agenda,
    executor: Executor,
    preparation: Preparation,
    measure: Callable[[Job, tuple[int, ...]], Work],
    cores: Sequence[int],
    on_record: Callable[[dict[str, Any]], object],
    observer: RunObserver | None = None,
) -> int:
    """Work through an agenda; `measure` makes the work of a measuring job. Return how many orders failed."""
    scheduler = Scheduler(
        agenda, executor, preparation, measure, CorePool(cores), observer or NullObserver(), on_record
    )
    # This thread, which draws the progress bar, keeps off the cores that are timed: those are taken from the top.
    with on_cores(cores[:1]):
        scheduler.run()
    return scheduler.failed_orders


class Scheduler:
    def __init__(
        self,
        agenda: Agenda,
        executor: Executor,
        preparation: Preparation,
        measure: Callable[[Job, tuple[int, ...]], Work],
        pool: CorePool,
        observer: RunObserver,
        on_record: Callable[[dict[str, Any]], object],
    ) -> None:
        self._agenda = agenda
        self._executor = executor
        self._preparation = preparation
        self._measure = measure
        self._cores = pool
        self._observer = observer
        self._on_record = on_record
        self._quiet_lanes = 1 if agenda.uses_device else max(1, len(pool) // CORES_PER_QUIET_LANE)
        self._time_left = TimeLeft(len(pool), self._quiet_lanes)
        self._running: Running = {}
        self._most_counting = 1
        self._all_steps = sum(agenda.left[step] for step in MEASURING_STEPS)
        self.failed_orders = 0

    def run(self) -> None:
        """Until nothing is left. An exception (Ctrl-C too) leaves at once: the caller stops the executor."""
        threads = ThreadPoolExecutor(len(self._cores) + 1)
        try:
            while True:
                while (started := self._next()) is not None:
                    job, cores = started
                    self._agenda.take(job)
                    future = threads.submit(self._executor.execute, self._work(job, cores))
                    self._running[future] = (job, cores, time.monotonic())
                self._tell()
                if not self._running:
                    return
                done, _ = wait(self._running, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
                for future in done:
                    job, cores, start = self._running.pop(future)
                    self._cores.give_back(cores)
                    self._time_left.add(job.step, time.monotonic() - start)
                    self._conclude(job, future.result())
        finally:
            threads.shutdown(wait=False, cancel_futures=True)

    def _work(self, job: Job, cores: tuple[int, ...]) -> Work:
        if job.step is Step.BUILD:
            return self._preparation.building(self._agenda.cpp_orders, cores)
        if job.model is not None:
            return self._preparation.scripting(job.model, cores)
        return self._measure(job, cores)

    def _next(self) -> tuple[Job, tuple[int, ...]] | None:
        """Return a job to start now, with its cores."""
        quiet_running = sum(job.step in QUIET_STEPS for job, _, _ in self._running.values())
        if quiet_running < self._quiet_lanes:
            job = self._agenda.next_quiet(wide=False)
            if job is not None and (cores := self._cores.take(job.cores, from_top=True)):
                return job, cores
            job = self._agenda.next_quiet(wide=True)
            if job is not None and not self._agenda.narrow_left:
                cores = self._cores.take(job.cores, from_top=True)
                # Nothing else begins before these have had their turn.
                return None if cores is None else (job, cores)
        job = self._agenda.next_loud(count=self._may_count())
        cores = None if job is None else self._cores.take(job.cores)
        return None if job is None or cores is None else (job, cores)

    def _may_count(self) -> bool:
        counting = sum(job.step is Step.COUNT for job, _, _ in self._running.values())
        worth = self._agenda.left[Step.COUNT] // COUNTS_WORTH_A_SERVER
        self._most_counting = max(self._most_counting, min(worth, counting + 1))
        return counting < self._most_counting

    def _conclude(self, job: Job, outcome: Done | Failure) -> None:
        if isinstance(outcome, Failure):
            self._conclude_failure(job, outcome)
        elif job.step is Step.BUILD:
            failures = self._preparation.keep_built(outcome.outcomes)
            for order in self._agenda.done(job, failures):
                self._give_up(order, job, failures[order.id])
        else:
            self._agenda.done(job)
            if job.order is not None and outcome.record is not None:
                self._on_record(identified(outcome.record, job.order))

    def _conclude_failure(self, job: Job, failure: Failure) -> None:
        retries = 1 if job.order is None else job.order.retries
        if failure.may_pass and job.attempt <= retries:
            self._agenda.again(job)
            return
        for order in self._agenda.failed(job):
            self._give_up(order, job, failure)

    def _give_up(self, order: WorkOrder, job: Job, failure: Failure) -> None:
        self.failed_orders += 1
        self._on_record(failure_record(order, job.step, failure, job.attempt))
        self._observer.gave_up(order.short_title, failure.message)

    def _tell(self) -> None:
        left = self._agenda.left
        now = time.monotonic()
        elapsed: dict[Step, float] = {}
        for job, _, start in self._running.values():
            elapsed[job.step] = elapsed.get(job.step, 0.0) + now - start
        self._observer.progressed(
            RunState(
                self._all_steps - sum(left[step] for step in MEASURING_STEPS),
                self._all_steps,
                self.failed_orders,
                self._time_left.estimate_seconds(left, elapsed),
                tuple(job.title for job, _, _ in self._running.values()),
            )
        )
