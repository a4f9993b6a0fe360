"""run_plan: a plan in, records out as soon as they exist. The Scheduler gives jobs cores and threads.

Wall-time work has its cores to itself, and on a small machine the whole machine: there, work that timings need (builds,
models) comes first, then all timings, in rounds, then counts and the rest on all cores; a large plan does so group by
group. A machine with more cores does both at the same time; timings that need several cores (one per thread) come last
in their group there, and nothing new starts until these cores are free. On a cluster a timing has a node to itself,
while other nodes do the rest (workplace.py, remote/node_slots.py). `probe_plan` runs every order of a plan of probes
once, for `check`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import queue
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from photometer.execution.agenda import Agenda, Job
from photometer.execution.budget import Budget
from photometer.execution.executor import Done, Executor, Failure, Work
from photometer.execution.observer import NullObserver, RunObserver, RunState, TimeLeft
from photometer.execution.prepare import Preparation
from photometer.execution.rounds import VisitBook, orders_per_group
from photometer.execution.run_file import failure_record, identified
from photometer.execution.run_settings import RunSettings
from photometer.execution.steps import BUILD, PROBE, TIME, Step
from photometer.execution.workplace import LocalWorkplace, Slot, Workplace, quiet_lanes_of
from photometer.model.records import from_record, to_record
from photometer.model.results_format import SKIPPED
from photometer.model.visit import Visit
from photometer.plan.probe import PROBE_FOLDER, ProbeOutcome, with_result_path
from photometer.plan.work_order import WorkOrder, WorkOrders
from photometer.session.cores import usable_cores
from photometer.session.left_behind import private_folder
from photometer.worker.messages import TorchFacts

# A counting server takes about 15 s to start, one that has compiled something 40 s: it must have so much to do.
SECONDS_WORTH_A_SERVER = 20.0
# How often the observer is called while nothing finishes.
LOOK_SECONDS = 0.25
# Nor is it called more often than anybody can read: a cluster finishes a thousand steps per second.
LEAST_SECONDS_BETWEEN_LOOKS = 0.02
# A step that was lost with this many nodes probably brought them down itself, by running out of memory.
MOST_LOSSES = 3

Running = dict["Future[Done | Failure]", tuple[Job, Slot, float]]


def run_plan(  # noqa: PLR0913 - a run has many parts, and one caller
    plan: WorkOrders,
    settings: RunSettings,
    executor: Executor,
    facts: TorchFacts,
    on_record: Callable[[dict[str, Any]], object],
    *,
    finished: Collection[tuple[str, str]] = (),
    observer: RunObserver | None = None,
    book: VisitBook | None = None,
    workplace: Workplace | None = None,
    budget: Budget | None = None,
) -> int:
    """Measure what is not finished. `facts` are the executor's own. Return how many orders failed.

    `book` holds the visits of orders that an earlier run began to time, and receives each new one. The work is done
    in the `workplace`, if there is one, instead of by the executor on this machine. Nothing begins after the `budget`.
    """
    cores = () if workplace is not None else usable_cores(settings.cores)
    widest = len(cores) if workplace is None else workplace.widest
    book = book or VisitBook(settings.min_run_time)
    steps = [Step(name) for name in settings.steps]
    lanes = quiet_lanes_of(cores) if workplace is None else max(workplace.quiet_lanes, 1)
    agenda = Agenda(
        plan,
        steps,
        finished=finished,
        cores=widest,
        book=book,
        options=settings.options,
        orders_per_group=orders_per_group(settings.min_run_time, lanes),
    )
    preparation = Preparation(facts)

    def work_for(job: Job, cores: tuple[int, ...]) -> Work:
        assert job.order is not None
        work = preparation.measuring(
            job.step, job.order, min_run_time=settings.min_run_time, repeats=settings.repeats, cores=cores
        )
        against = tuple(preparation.ready(each) for each in agenda.against(job.order, job.step))
        work = dataclasses.replace(work, against=against, options=settings.options)
        if job.step != TIME:
            return work
        visit = book.next_visit(job.order.id)
        return dataclasses.replace(
            work,
            min_run_time=visit.seconds,
            layout_seed=visit.layout_seed,
            runs_per_block=visit.runs_per_block,
            seed=visit.seed,
        )

    place = workplace or LocalWorkplace(executor, cores, uses_device=agenda.uses_device, facts=facts)
    return _run(agenda, place, preparation, work_for, on_record, observer=observer, book=book, budget=budget)


def probe_plan(
    plan: WorkOrders,
    settings: RunSettings,
    executor: Executor,
    facts: TorchFacts,
    observer: RunObserver | None = None,
) -> list[ProbeOutcome]:
    """Run each order of a plan that was made with probe=True once; return the values that each left in its file."""
    errors: dict[str, str] = {}
    skipped: dict[str, str] = {}

    def keep(record: dict[str, Any]) -> None:
        if record["kind"] == SKIPPED:
            skipped[record["order"]["id"]] = record["reason"]
            return
        step = "" if record["step"] == PROBE.name else f"{record['step']} "
        errors[record["order"]["id"]] = f"{step}failed: {record['message']}"

    with private_folder("probes") as folder:
        # A file per order, by its bare name: it is part of the C++ text, which would else never be in the cache.
        named = dataclasses.replace(plan, orders=tuple(with_result_path(order, order.id) for order in plan))
        cores = usable_cores(settings.cores)
        preparation = Preparation(facts, include_paths=[str(PROBE_FOLDER)])

        def work_for(job: Job, cores: tuple[int, ...]) -> Work:
            assert job.order is not None
            return preparation.measuring(
                PROBE,
                job.order,
                min_run_time=settings.min_run_time,
                repeats=1,
                path=(str(PROBE_FOLDER),),
                folder=str(folder),
                cores=cores,
            )

        agenda = Agenda(named, [PROBE], cores=len(cores))
        place = LocalWorkplace(executor, cores, uses_device=agenda.uses_device)
        _run(agenda, place, preparation, work_for, keep, observer=observer)
        return [
            ProbeOutcome(order, _values(folder / order.id), errors.get(order.id), skipped.get(order.id))
            for order in plan
        ]


def _values(path: Path) -> dict[str, Any] | None:
    """Return the values that an order wrote; None if it wrote none: an author's TimerArgs are run as they are."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def _run(  # noqa: PLR0913 - as above
    agenda: Agenda,
    workplace: Workplace,
    preparation: Preparation,
    measure: Callable[[Job, tuple[int, ...]], Work],
    on_record: Callable[[dict[str, Any]], object],
    *,
    observer: RunObserver | None,
    book: VisitBook | None = None,
    budget: Budget | None = None,
) -> int:
    scheduler = Scheduler(
        agenda, workplace, preparation, measure, observer or NullObserver(), on_record, book=book, budget=budget
    )
    with workplace.here():
        scheduler.run()
    return scheduler.failed_orders


class Scheduler:
    def __init__(  # noqa: PLR0913 - as above
        self,
        agenda: Agenda,
        workplace: Workplace,
        preparation: Preparation,
        measure: Callable[[Job, tuple[int, ...]], Work],
        observer: RunObserver,
        on_record: Callable[[dict[str, Any]], object],
        *,
        book: VisitBook | None = None,
        budget: Budget | None = None,
    ) -> None:
        self._agenda = agenda
        self._book = book
        self._budget = budget or Budget()
        self._workplace = workplace
        self._preparation = preparation
        self._measure = measure
        self._observer = observer
        self._on_record = on_record
        self._time_left = TimeLeft(workplace.lanes, workplace.quiet_lanes, alone=not workplace.times_beside_others)
        self._time_left.expect_build(agenda.snippets_per_build)
        self._running: Running = {}
        self._quiet_running = self._counting = 0
        self._ended: queue.SimpleQueue[Future[Done | Failure]] = queue.SimpleQueue()
        # On a cluster: which nodes an order that is being timed has visited.
        self._visited: dict[str, list[str]] = {}
        self._most_counting = 1
        self._all_steps = _results(agenda.left)
        # What scatters gets more visits: what has been shown as done stays so.
        self._share_done = 0.0
        self._last_report = 0.0
        self.failed_orders = 0

    def run(self) -> None:
        """Run jobs until none is left. An exception (Ctrl-C too) leaves at once: the caller stops the executor."""
        try:
            while True:
                while not self._budget.is_spent and (started := self._next()) is not None:
                    self._start(*started)
                self._tell()
                if not self._running and self._is_over():
                    return
                with contextlib.suppress(queue.Empty):
                    self._end(self._ended.get(timeout=LOOK_SECONDS))
        finally:
            self._workplace.end()

    def _is_over(self) -> bool:
        """Return whether nothing more can begin."""
        is_left = any(self._agenda.left.values())
        if self._budget.is_spent:
            self._budget.cut_short |= is_left
            return True
        return not (is_left and self._workplace.is_waiting)

    def _start(self, job: Job, slot: Slot) -> None:
        if job.step.is_result:
            self._budget.begin()
        self._agenda.take(job)
        self._quiet_running += job.step.is_quiet
        self._counting += job.step.counts
        future = self._workplace.submit(slot.give(self._work(job, slot.cores)), slot)
        self._running[future] = (job, slot, time.monotonic())
        future.add_done_callback(self._ended.put)

    def _end(self, future: Future[Done | Failure]) -> None:
        job, slot, start = self._running.pop(future)
        self._quiet_running -= job.step.is_quiet
        self._counting -= job.step.counts
        self._workplace.give_back(job, slot)
        self._time_left.add(job.step, time.monotonic() - start)
        self._conclude(job, slot, future.result())

    def _work(self, job: Job, cores: tuple[int, ...]) -> Work:
        if job.step == BUILD:
            work = self._preparation.building(self._agenda.to_build(job), cores)
            # Where nothing may run beside timings, the server of the counts would start after all of them.
            follow = not self._workplace.times_beside_others and any(step.counts for step in +self._agenda.left)
            return dataclasses.replace(work, counts_follow=follow)
        if job.model is not None:
            return self._preparation.scripting(job.model, cores)
        return self._measure(job, cores)

    def _next(self) -> tuple[Job, Slot] | None:
        """Return a job to start now, with its slot."""
        if any(job.step.is_alone for job, _, _ in self._running.values()):
            return None
        found = self._next_beside_others()
        if found is None and not self._running:
            job = self._agenda.next_alone()
            slot = None if job is None else self._workplace.take(job)
            return None if job is None or slot is None else (job, slot)
        return found

    def _next_beside_others(self) -> tuple[Job, Slot] | None:
        if not self._workplace.times_beside_others:
            return self._next_alone()
        place = self._workplace
        if place.prepares_first:
            job, quiet = self._agenda.next_early(), self._agenda.next_quiet(wide=None)
            its_turn = job is not None and (quiet is None or job.group <= quiet.group)
            if job is not None and its_turn and (slot := place.take(job)):
                return job, slot
        if self._quiet_running < place.quiet_lanes:
            job = self._agenda.next_quiet(wide=True)
            if job is not None and not self._agenda.timings_left(job.group, narrow=True):
                if slot := place.take(job):
                    return job, slot
                if not place.may_pass(job):
                    # Nothing else begins before these have had their turn.
                    return None
            job = self._agenda.next_quiet(wide=False)
            if job is not None and (slot := place.take(job)):
                return job, slot
        return self._next_loud()

    def _next_alone(self) -> tuple[Job, Slot] | None:
        """Return a job for a small machine: per group, first what timings need, then timings alone, then the rest."""
        if self._quiet_running:
            return None
        early, quiet = self._agenda.next_early(), self._agenda.next_quiet(wide=None)
        late = self._agenda.next_late(count=self._may_count())
        # Of jobs of the same group, `min` takes the first.
        job = min((each for each in (early, quiet, late) if each is not None), key=lambda job: job.group, default=None)
        if job is None or (self._running and job is not early and self._agenda.timings_left(job.group)):
            return None
        slot = self._workplace.take(job)
        return None if slot is None else (job, slot)

    def _next_loud(self) -> tuple[Job, Slot] | None:
        job = self._agenda.next_early() or self._agenda.next_late(count=self._may_count())
        slot = None if job is None else self._workplace.take(job)
        return None if job is None or slot is None else (job, slot)

    def _may_count(self) -> bool:
        seconds = sum(count * step.first_guess_seconds for step, count in self._agenda.left.items() if step.counts)
        self._most_counting = max(self._most_counting, min(int(seconds / SECONDS_WORTH_A_SERVER), self._counting + 1))
        return self._counting < self._most_counting

    def _conclude(self, job: Job, slot: Slot, outcome: Done | Failure) -> None:
        if isinstance(outcome, Failure):
            self._conclude_failure(job, outcome)
        elif job.step == BUILD:
            failures = self._preparation.keep_built(self._agenda.to_build(job), outcome.outcomes)
            for order in self._agenda.done(job, failures):
                self._give_up(order, job, failures[order.id])
        else:
            self._conclude_success(job, slot, outcome)

    def _conclude_success(self, job: Job, slot: Slot, outcome: Done) -> None:
        record = outcome.record
        if job.order is None or job.step != TIME or self._book is None:
            self._agenda.done(job)
        else:
            self._book.add(job.order, from_record(Visit, record))
            self._agenda.done(job)
            record = None
            if self._book.is_complete(job.order.id):
                measurement = self._book.finish(job.order)
                self._observer.measured(job.order.short_title, measurement.seconds)
                record = to_record(measurement)
        if job.order is None:
            return
        nodes = self._visited.setdefault(job.order.id, []) if slot.node else []
        nodes += [node for node in slot.nodes if node not in nodes]
        if record is not None:
            self._visited.pop(job.order.id, None)
            named = identified(record, job.order)
            self._on_record({**named, "nodes": nodes} if nodes else named)

    def _conclude_failure(self, job: Job, failure: Failure) -> None:
        if failure.lost and job.losses < MOST_LOSSES:
            self._agenda.elsewhere(job)
            return
        retries = 1 if job.order is None else job.order.retries
        if failure.may_pass and job.attempt <= retries:
            self._agenda.again(job)
            return
        for order in self._agenda.failed(job, ends_order=failure.skipped or None):
            self._give_up(order, job, failure)

    def _give_up(self, order: WorkOrder, job: Job, failure: Failure) -> None:
        if self._book is not None:
            self._book.forget(order.id)
        self._on_record(failure_record(order, job.step, failure, job.attempt))
        if failure.skipped:
            return
        self.failed_orders += 1
        self._observer.gave_up(order.short_title, failure.message)

    def _tell(self) -> None:
        now = time.monotonic()
        if self._running and now - self._last_report < LEAST_SECONDS_BETWEEN_LOOKS:
            return
        self._last_report = now
        left = self._agenda.left
        elapsed: dict[Step, float] = {}
        for job, _, start in self._running.values():
            elapsed[job.step] = elapsed.get(job.step, 0.0) + now - start
        self._share_done = max(self._share_done, 1.0 - _results(left) / self._all_steps if self._all_steps else 1.0)
        overdue = tuple(
            job.title for job, _, start in self._running.values() if self._time_left.is_overdue(job.step, now - start)
        )
        seconds = self._time_left.estimate_seconds(left, elapsed)
        self._observer.progressed(
            RunState(
                self._agenda.orders - self._agenda.orders_left,
                self._agenda.orders,
                self.failed_orders,
                self._time_left.falling(seconds, now, is_overdue=bool(overdue)),
                tuple(job.title for job, _, _ in self._running.values()),
                self._share_done,
                self._workplace.states(),
                overdue,
            )
        )


def _results(left: Mapping[Step, int]) -> int:
    return sum(count for step, count in left.items() if step.is_result)
