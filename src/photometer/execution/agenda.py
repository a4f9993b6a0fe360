"""Agenda: which steps of a plan are ready to run, which wait for others, and which are left. Nothing is run here.

An order waits for its scripted model and, in C++, for the build. It is timed first, in several visits, and counted only
if that succeeded, so that code that crashes or hangs does so once, and not under Valgrind. What measures it against
other orders waits until these have been timed, too. A large plan is done in groups of orders (rounds.py), one after the
other, so that the first groups are complete early.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence

from photometer.execution.rounds import Rounds, VisitBook, groups_of
from photometer.execution.steps import BUILD, GIVEN_UP, SCRIPT, TIME, Step
from photometer.model.task import Language
from photometer.plan.work_order import ScriptingJob, WorkOrder, WorkOrders

# With this many cores timings and other work go on at the same time.
MANY_CORES = 4


@dataclasses.dataclass(frozen=True)
class Job:
    """One step of one order (of its timing, one visit), or the scripting of a model, or the build of a group's C++."""

    step: Step
    order: WorkOrder | None = None
    model: ScriptingJob | None = None
    cores: int = 1
    attempt: int = 1
    visit: int = 0
    group: int = 0
    # How often the node was lost that did it.
    losses: int = 0

    @property
    def title(self) -> str:
        if self.order is not None:
            return self.order.short_title
        return "TorchScript models" if self.step == SCRIPT else "C++"

    @property
    def makes(self) -> str:
        """Return what orders wait for until this job is done: a model, or the C++ of their group."""
        return _built(self.group) if self.model is None else self.model.id


def _built(group: int) -> str:
    return f"{BUILD.name} {group}"


class Agenda:
    """Take jobs with `next_quiet` and `next_loud`; give each back to `done`, `failed` or `again`."""

    def __init__(
        self,
        plan: WorkOrders,
        steps: Sequence[Step],
        *,
        finished: Collection[tuple[str, str]] = (),
        cores: int = 1,
        book: VisitBook | None = None,
        options: Mapping[str, bool] | None = None,
        orders_per_group: int | None = None,
    ) -> None:
        self._options = options or {}
        self._steps = tuple(steps)
        # By step: for each order that it measures against others, those.
        self._against = {
            step: step.instrument.against(plan)
            for step in steps
            if step.instrument is not None and step.instrument.against is not None
        }
        # Orders that wait until another one has been timed, by the id of that.
        self._followers: dict[str, list[WorkOrder]] = {}
        self._given_up = {order_id for order_id, step in finished if step == GIVEN_UP}
        self._cores = cores
        self._book = book
        self._visits: dict[str, int] = {}
        self._todo: dict[str, list[Step]] = {}
        self._needs: dict[str, set[str]] = {}
        self._waiting: dict[str, list[WorkOrder]] = {}
        self._builds: deque[Job] = deque()
        self._queues: dict[Step, deque[Job]] = {}
        # Timings by the number of cores: for a single one, and for several.
        self._narrow, self._wide = Rounds[Job](), Rounds[Job]()
        self.left: Counter[Step] = Counter()
        # Whether anything runs on an accelerator: there is one for all, so that nothing else may be timed beside it.
        self.uses_device = any(order.auto.on_device for order in plan)
        # Timings that are not finished, by group, and whether they are for a single core.
        self._timings: Counter[tuple[int, bool]] = Counter()
        unfinished = {order.id: self._unfinished(order, steps, finished) for order in plan}
        # Those that an earlier run finished are among them.
        self.orders = len(unfinished)
        orders = [order for order in plan if unfinished[order.id]]
        self._groups = groups_of(orders, orders_per_group or max(len(orders), 1))
        for order in orders:
            self._enter(order, unfinished[order.id])
        self._plan_builds(cores)
        for model in plan.scripting_jobs:
            if model.id in self._waiting:
                self._add(Job(SCRIPT, model=model, group=self._groups[self._waiting[model.id][0].id]))
        for order in orders:
            self._release(order)

    def _unfinished(self, order: WorkOrder, steps: Sequence[Step], finished: Collection[tuple[str, str]]) -> list[Step]:
        return [
            step
            for step in steps
            if (order.id, step.name) not in finished
            and step.applies(order, self._options)
            and (step not in self._against or self.against(order, step))
        ]

    def against(self, order: WorkOrder, step: Step) -> tuple[WorkOrder, ...]:
        """Return the orders that this step measures an order against."""
        return self._against[step].get(order.id, ()) if step in self._against else ()

    def _enter(self, order: WorkOrder, todo: list[Step]) -> None:
        self._todo[order.id] = todo
        self._visits[order.id] = 1 if self._book is None else max(self._book.left(order.id), 1)
        self.left.update(self._weights(order, todo))
        self._timings[self._timing_place(order)] += _timings_in(todo)
        needs = {_built(self._groups[order.id])} if order.args.language is Language.CPP else set()
        needs |= {order.model_id} if order.model_id is not None else set()
        self._needs[order.id] = needs
        for need in needs:
            self._waiting.setdefault(need, []).append(order)

    def _plan_builds(self, cores: int) -> None:
        """Put the first build; each of the others follows the one before."""
        groups = sorted({group for order, group in self._groups.items() if _built(group) in self._needs[order]})
        # On few cores nothing is timed meanwhile; on more, half of them time and count what needs no compiler.
        wanted = cores if cores < MANY_CORES else cores // 2
        self._builds = deque(Job(BUILD, cores=wanted, group=group) for group in groups)
        self.left[BUILD] += len(groups)
        # How many C++ orders a build is of, in the mean.
        self.snippets_per_build = sum(len(self._waiting[job.makes]) for job in self._builds) / max(len(groups), 1)
        self._put_next_build()

    def _put_next_build(self) -> None:
        if self._builds:
            self._put(self._builds.popleft())

    @property
    def orders_left(self) -> int:
        """Return how many orders are neither finished nor given up."""
        return len(self._todo)

    def to_build(self, job: Job) -> tuple[WorkOrder, ...]:
        """Return the orders whose C++ a build compiles."""
        return tuple(self._waiting[job.makes])

    def next_quiet(self, *, wide: bool | None) -> Job | None:
        """Return the next timing that is ready: for one core, with `wide` for several, with None for either."""
        narrow, several = (
            (None if wide is True else self._narrow.next()),
            (None if wide is False else self._wide.next()),
        )
        if narrow is None or several is None:
            return narrow or several
        return several if (several.group, several.visit) < (narrow.group, narrow.visit) else narrow

    def timings_left(self, group: int, *, narrow: bool = False) -> bool:
        """Return whether orders of this or an earlier group are still to be timed; with `narrow`, on a single core."""
        return any(
            count and place <= group and (for_one_core or not narrow)
            for (place, for_one_core), count in self._timings.items()
        )

    def next_early(self) -> Job | None:
        """Return the next job that others wait for, of the earliest group."""
        return min(self._heads(early=True), key=lambda job: job.group, default=None)

    def next_late(self, *, count: bool) -> Job | None:
        """Return the next job that no other waits for; with `count` it may be a count, if there is nothing else."""
        heads = [job for job in self._heads(early=False) if count or not job.step.counts]
        return min(heads, key=lambda job: (job.group, job.step.counts), default=None)

    def _heads(self, *, early: bool) -> list[Job]:
        return [
            waiting[0]
            for step, waiting in self._queues.items()
            if waiting and not step.is_alone and step.is_early == early
        ]

    def next_alone(self) -> Job | None:
        """Return the next job beside which nothing else may run."""
        return next((waiting[0] for step, waiting in self._queues.items() if waiting and step.is_alone), None)

    def take(self, job: Job) -> None:
        """Note that the job has been started."""
        if job.step.is_quiet:
            self._rounds(job.cores).remove(job)
        else:
            self._queues[job.step].remove(job)

    def again(self, job: Job) -> None:
        """Try the job once more, after all that is ready now: the problem may have passed by then."""
        self._put(dataclasses.replace(job, attempt=job.attempt + 1), last=True)

    def elsewhere(self, job: Job) -> None:
        """Do the job on another node, because the node that did it is gone."""
        self._put(dataclasses.replace(job, losses=job.losses + 1))

    def done(self, job: Job, failed: Collection[str] = ()) -> list[WorkOrder]:
        """Note that a job succeeded.

        Of a build, `failed` are the ids of orders that did not compile; return them.
        """
        if job.order is None:
            self.left[job.step] -= 1
            return self._settle(job, failed)
        more = self._book.left(job.order.id) if job.step == TIME and self._book is not None else 0
        if more:
            self.left[TIME] += more - self._visits[job.order.id]
            self._visits[job.order.id] = more
        else:
            self._strike(job.order, 1)
        self._release(job.order)
        return []

    def failed(self, job: Job, *, ends_order: bool | None = None) -> list[WorkOrder]:
        """Note that a job failed for good; return the orders that it concerns. Some steps end their order."""
        if job.order is not None:
            ends = job.step.ends_order if ends_order is None else ends_order
            self._strike(job.order, None if ends else 1)
            self._release(job.order)
            return [job.order]
        self.left[job.step] -= 1
        return self._settle(job, [order.id for order in self._waiting.get(job.makes, ())])

    def _settle(self, job: Job, failed: Collection[str]) -> list[WorkOrder]:
        if job.step == BUILD:
            self._put_next_build()
        given_up = []
        for order in self._waiting.pop(job.makes, []):
            if order.id not in self._todo:
                continue
            self._needs[order.id].discard(job.makes)
            if order.id in failed:
                self._strike(order)
                given_up.append(order)
            else:
                self._release(order)
        return given_up

    def _strike(self, order: WorkOrder, count: int | None = None) -> None:
        """Remove the first `count` steps (else all) of an order; nothing is kept of an order without steps."""
        todo = self._todo[order.id]
        struck, rest = (todo, []) if count is None else (todo[:count], todo[count:])
        self.left.subtract(self._weights(order, struck))
        self._timings[self._timing_place(order)] -= _timings_in(struck)
        if rest:
            self._todo[order.id] = rest
        else:
            del self._todo[order.id], self._needs[order.id], self._visits[order.id]
        if count is None:
            self._given_up.add(order.id)
        for follower in self._followers.pop(order.id, ()):
            self._release(follower)

    def _weights(self, order: WorkOrder, steps: Sequence[Step]) -> dict[Step, int]:
        """Return how often each step is to be done: a timing once per visit."""
        return {step: self._visits[order.id] if step == TIME else 1 for step in steps}

    def _timing_place(self, order: WorkOrder) -> tuple[int, bool]:
        """Return the group of an order, and whether its timings are for a single core."""
        return self._groups[order.id], self._width(order) == 1

    def _release(self, order: WorkOrder) -> None:
        if order.id not in self._todo or self._needs[order.id]:
            return
        step = self._todo[order.id][0]
        others = self.against(order, step)
        if any(each.id in self._given_up for each in others):
            # The failure of the other one is reported, and is the reason for both.
            self._strike(order, 1)
            self._release(order)
        elif (first := next((each for each in others if self._is_behind(each, step)), None)) is not None:
            self._followers.setdefault(first.id, []).append(order)
        else:
            visit = self._book.taken(order.id) if self._book is not None and step == TIME else 0
            cores = self._width(order) if step.is_quiet or step.is_alone else 1
            self._put(Job(step, order, cores=cores, visit=visit, group=self._groups[order.id]))

    def _is_behind(self, order: WorkOrder, step: Step) -> bool:
        """Return whether steps of the order are left that come before this one."""
        todo = self._todo.get(order.id)
        return todo is not None and self._steps.index(todo[0]) < self._steps.index(step)

    def _add(self, job: Job) -> None:
        self.left[job.step] += 1
        self._put(job)

    def _put(self, job: Job, *, last: bool = False) -> None:
        if job.step.is_quiet:
            self._rounds(job.cores).add(job, last=last)
        else:
            self._queues.setdefault(job.step, deque()).append(job)

    def _rounds(self, cores: int) -> Rounds[Job]:
        return self._wide if cores > 1 else self._narrow

    def _width(self, order: WorkOrder) -> int:
        """Return a core per thread and rank, or per order whose device opens at once, as far as there are any."""
        sides = max((len(self.against(order, step)) for step in self._against), default=0) + 1
        return min(max(order.processors, sides if order.auto.on_device else 1), self._cores)


def _timings_in(steps: Sequence[Step]) -> int:
    return sum(step.is_quiet for step in steps)
