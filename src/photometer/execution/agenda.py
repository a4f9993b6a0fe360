"""Agenda: what of a plan is ready to run, what waits for what, and what is left. Pure bookkeeping; nothing is run here.

An order waits for its scripted model and, in C++, for the build; it is timed first, in several visits, and counted only
when that went well, so that what crashes or hangs does so once, and not under Valgrind.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence

from photometer.execution.executor import Step
from photometer.execution.rounds import Rounds, VisitBook
from photometer.model.language import Language
from photometer.plan.auto_labels import RuntimeMode
from photometer.plan.work_order import ScriptingJob, WorkOrder, WorkOrders

# Steps during which nothing else may run on the same cores.
QUIET_STEPS = frozenset({Step.TIME, Step.DEVICE})
# With this many cores timings and other work go on at the same time.
MANY_CORES = 4
# Steps that are a result of an order each, and so count as progress.
MEASURING_STEPS = (Step.COMPILE, Step.TIME, Step.COUNT, Step.DEVICE, Step.MEMORY, Step.PROBE)
# Work that timings wait for, and that which comes after them.
EARLY_STEPS = (Step.BUILD, Step.SCRIPT, Step.COMPILE)
LATE_STEPS = (Step.PROBE, Step.MEMORY)


@dataclasses.dataclass(frozen=True)
class Job:
    """One step of one order (of its timing, one visit), or the scripting of a model, or the build of all C++."""

    step: Step
    order: WorkOrder | None = None
    model: ScriptingJob | None = None
    cores: int = 1
    attempt: int = 1
    visit: int = 0
    # How often the node was lost that did it.
    losses: int = 0

    @property
    def title(self) -> str:
        if self.order is not None:
            return self.order.short_title
        return "TorchScript models" if self.step is Step.SCRIPT else "C++"


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
    ) -> None:
        self._cores = cores
        self._book = book
        self._visits: dict[str, int] = {}
        self._todo: dict[str, list[Step]] = {}
        self._needs: dict[str, set[str]] = {}
        self._waiting: dict[str, list[WorkOrder]] = {}
        self._queues: dict[Step, deque[Job]] = {step: deque() for step in Step if step not in QUIET_STEPS}
        # Timings by the number of cores: for a single one, and for several.
        self._narrow, self._wide = Rounds[Job](), Rounds[Job]()
        self.left: Counter[Step] = Counter()
        # Whether anything runs on an accelerator: there is one for all, so that nothing else may be timed beside it.
        self.uses_device = any(order.auto.on_device for order in plan)
        # Timings for a single core that are not finished: those for several wait for them, see the scheduler.
        self.narrow_left = 0
        self.cpp_orders: tuple[WorkOrder, ...] = ()
        orders = [order for order in plan if self._enter(order, steps, finished)]
        self.cpp_orders = tuple(order for order in orders if order.args.language is Language.CPP)
        if self.cpp_orders:
            # On few cores nothing is timed meanwhile; on more, half of them time and count what needs no compiler.
            self._add(Job(Step.BUILD, cores=cores if cores < MANY_CORES else cores // 2))
        for model in plan.scripting_jobs:
            if model.id in self._waiting:
                self._add(Job(Step.SCRIPT, model=model))
        for order in orders:
            self._release(order)

    def _enter(self, order: WorkOrder, steps: Sequence[Step], finished: Collection[tuple[str, str]]) -> bool:
        todo = [step for step in steps if (order.id, step.value) not in finished and _applies(step, order)]
        if not todo:
            return False
        self._todo[order.id] = todo
        self._visits[order.id] = 1 if self._book is None else max(self._book.left(order.id), 1)
        self.left.update(self._weights(order, todo))
        self.narrow_left += self._narrow_steps(todo, order)
        needs = {Step.BUILD.value} if order.args.language is Language.CPP else set()
        needs |= {order.model_id} if order.model_id is not None else set()
        self._needs[order.id] = needs
        for need in needs:
            self._waiting.setdefault(need, []).append(order)
        return True

    def next_quiet(self, *, wide: bool | None) -> Job | None:
        """Return the next timing that is ready: for one core, with `wide` for several, with None for either."""
        narrow, several = (
            (None if wide is True else self._narrow.next()),
            (None if wide is False else self._wide.next()),
        )
        if narrow is None or several is None:
            return narrow or several
        return several if several.visit < narrow.visit else narrow

    @property
    def timings_left(self) -> int:
        return sum(self.left[step] for step in QUIET_STEPS)

    def next_loud(self, *, late: bool = True, count: bool) -> Job | None:
        """Return the next other work: first what others wait for. `late` and `count` say whether it may be the rest."""
        for step in (*EARLY_STEPS, *(LATE_STEPS if late else ()), *((Step.COUNT,) if count else ())):
            if self._queues[step]:
                return self._queues[step][0]
        return None

    def take(self, job: Job) -> None:
        """Note that the job has been started."""
        if job.step in QUIET_STEPS:
            self._rounds(job.cores).remove(job)
        else:
            self._queues[job.step].remove(job)

    def again(self, job: Job) -> None:
        """Try it once more, after all that is ready now: what was wrong may have passed by then."""
        self._put(dataclasses.replace(job, attempt=job.attempt + 1), last=True)

    def elsewhere(self, job: Job) -> None:
        """Do it on another node: the one that did it is gone."""
        self._put(dataclasses.replace(job, losses=job.losses + 1))

    def done(self, job: Job, failed: Collection[str] = ()) -> list[WorkOrder]:
        """Note that a job went well. Of the build, `failed` are the ids of orders that did not compile; return them."""
        if job.order is None:
            self.left[job.step] -= 1
            return self._settle(job, failed)
        more = self._book.left(job.order.id) if job.step is Step.TIME and self._book is not None else 0
        if more:
            self.left[Step.TIME] += more - self._visits[job.order.id]
            self._visits[job.order.id] = more
        else:
            self._strike(job.order, 1)
        if job.order.id in self._todo:
            self._release(job.order)
        return []

    def failed(self, job: Job) -> list[WorkOrder]:
        """Note that a job failed for good; return the orders that come to nothing by it."""
        if job.order is not None:
            self._strike(job.order)
            return [job.order]
        self.left[job.step] -= 1
        need = Step.BUILD.value if job.model is None else job.model.id
        return self._settle(job, [order.id for order in self._waiting.get(need, ())])

    def _settle(self, job: Job, failed: Collection[str]) -> list[WorkOrder]:
        need = Step.BUILD.value if job.model is None else job.model.id
        given_up = []
        for order in self._waiting.pop(need, []):
            if order.id not in self._todo:
                continue
            self._needs[order.id].discard(need)
            if order.id in failed:
                self._strike(order)
                given_up.append(order)
            else:
                self._release(order)
        return given_up

    def _strike(self, order: WorkOrder, count: int | None = None) -> None:
        """Take the first `count` steps (else all) of an order off the list; nothing is kept of one without any."""
        todo = self._todo[order.id]
        struck, rest = (todo, []) if count is None else (todo[:count], todo[count:])
        self.left.subtract(self._weights(order, struck))
        self.narrow_left -= self._narrow_steps(struck, order)
        if rest:
            self._todo[order.id] = rest
        else:
            del self._todo[order.id], self._needs[order.id], self._visits[order.id]

    def _weights(self, order: WorkOrder, steps: Sequence[Step]) -> dict[Step, int]:
        """Return how often each step is to be done: a timing once per visit."""
        return {step: self._visits[order.id] if step is Step.TIME else 1 for step in steps}

    def _narrow_steps(self, steps: Sequence[Step], order: WorkOrder) -> int:
        """Return how many of the steps are timings for a single core."""
        return sum(step in QUIET_STEPS for step in steps) if self._width(order) == 1 else 0

    def _release(self, order: WorkOrder) -> None:
        if not self._needs[order.id]:
            step = self._todo[order.id][0]
            visit = self._book.taken(order.id) if self._book is not None and step is Step.TIME else 0
            self._put(Job(step, order, cores=self._width(order) if step in QUIET_STEPS else 1, visit=visit))

    def _add(self, job: Job) -> None:
        self.left[job.step] += 1
        self._put(job)

    def _put(self, job: Job, *, last: bool = False) -> None:
        if job.step in QUIET_STEPS:
            self._rounds(job.cores).add(job, last=last)
        else:
            self._queues[job.step].append(job)

    def _rounds(self, cores: int) -> Rounds[Job]:
        return self._wide if cores > 1 else self._narrow

    def _width(self, order: WorkOrder) -> int:
        """Return a core per thread, as far as there are any."""
        return min(order.args.num_threads, self._cores)


def _applies(step: Step, order: WorkOrder) -> bool:
    if step is Step.COMPILE:
        return order.auto.runtime is RuntimeMode.COMPILED
    if step is Step.DEVICE:
        return order.auto.on_device
    # Valgrind sees only the host; the instructions of a kernel launch are not what a device's benchmark asks about.
    return step is not Step.COUNT or (order.counts_instructions and not order.auto.on_device)


def finished_steps(records: Iterable[Mapping[str, object]]) -> set[tuple[str, str]]:
    """Return the steps that a results file has records of; a failure ends its order, so it counts for all of them."""
    kinds = {
        "measurement": (Step.TIME,),
        "instruction_counts": (Step.COUNT,),
        "device_measurement": (Step.DEVICE,),
        "memory": (Step.MEMORY,),
        "compile_report": (Step.COMPILE,),
        "failure": (Step.TIME, Step.COUNT, Step.DEVICE, Step.MEMORY, Step.COMPILE),
    }
    finished = set()
    for record in records:
        order = record.get("order")
        if isinstance(order, dict):
            finished |= {(str(order.get("id")), step.value) for step in kinds.get(str(record["kind"]), ())}
    return finished
