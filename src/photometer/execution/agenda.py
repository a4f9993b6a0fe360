"""Agenda: what of a plan is ready to run, what waits for what, and what is left. Pure bookkeeping; nothing is run here.

An order waits for its scripted model and, in C++, for the build; it is timed first and counted only when that went
well, so that what crashes or hangs does so once, and not under Valgrind.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence

from photometer.execution.executor import Step
from photometer.model.language import Language
from photometer.plan.auto_labels import RuntimeMode
from photometer.plan.work_order import ScriptingJob, WorkOrder, WorkOrders

# Steps during which nothing else may run on the same cores.
QUIET_STEPS = frozenset({Step.TIME, Step.DEVICE})
# Steps that are a result of an order each, and so count as progress.
MEASURING_STEPS = (Step.COMPILE, Step.TIME, Step.COUNT, Step.DEVICE, Step.MEMORY, Step.PROBE)


@dataclasses.dataclass(frozen=True)
class Job:
    """One step of one order, or the scripting of a model, or the build of all C++."""

    step: Step
    order: WorkOrder | None = None
    model: ScriptingJob | None = None
    cores: int = 1
    attempt: int = 1

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
    ) -> None:
        self._cores = cores
        self._todo: dict[str, list[Step]] = {}
        self._needs: dict[str, set[str]] = {}
        self._waiting: dict[str, list[WorkOrder]] = {}
        self._queues: dict[Step, deque[Job]] = {step: deque() for step in Step}
        self._wide: deque[Job] = deque()
        self.left: Counter[Step] = Counter()
        # Whether anything runs on an accelerator: there is one for all, so that nothing else may be timed beside it.
        self.uses_device = any(order.auto.on_device for order in plan)
        # Timings for a single core that are not finished: those for several wait for them, see the scheduler.
        self.narrow_left = 0
        self.cpp_orders: tuple[WorkOrder, ...] = ()
        orders = [order for order in plan if self._enter(order, steps, finished)]
        self.cpp_orders = tuple(order for order in orders if order.args.language is Language.CPP)
        if self.cpp_orders:
            self._add(Job(Step.BUILD, cores=max(1, cores // 2)))
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
        self.left.update(todo)
        self.narrow_left += self._narrow(todo, order)
        needs = {Step.BUILD.value} if order.args.language is Language.CPP else set()
        needs |= {order.model_id} if order.model_id is not None else set()
        self._needs[order.id] = needs
        for need in needs:
            self._waiting.setdefault(need, []).append(order)
        return True

    def next_quiet(self, *, wide: bool) -> Job | None:
        """Return the next timing that is ready: for one core, or, with `wide`, for several."""
        queue = self._wide if wide else self._queues[Step.TIME]
        return queue[0] if queue else None

    def next_loud(self, *, count: bool) -> Job | None:
        """Return the next other work: first what others wait for. `count` says whether it may be a count."""
        loud = (Step.BUILD, Step.SCRIPT, Step.COMPILE, Step.PROBE, Step.MEMORY)
        for step in (*loud, *((Step.COUNT,) if count else ())):
            if self._queues[step]:
                return self._queues[step][0]
        return None

    def take(self, job: Job) -> None:
        """The job has been started."""
        self._queue(job).remove(job)

    def again(self, job: Job) -> None:
        """Try it once more, after all that is ready now: what was wrong may have passed by then."""
        self._queue(job).append(dataclasses.replace(job, attempt=job.attempt + 1))

    def done(self, job: Job, failed: Collection[str] = ()) -> list[WorkOrder]:
        """A job went well. For the build, `failed` are the ids of orders that did not compile; they are returned."""
        if job.order is None:
            self.left[job.step] -= 1
            return self._settle(job, failed)
        self._strike(job.order, 1)
        if job.order.id in self._todo:
            self._release(job.order)
        return []

    def failed(self, job: Job) -> list[WorkOrder]:
        """A job failed for good. Return the orders that come to nothing by it."""
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
        self.left.subtract(struck)
        self.narrow_left -= self._narrow(struck, order)
        if rest:
            self._todo[order.id] = rest
        else:
            del self._todo[order.id], self._needs[order.id]

    def _narrow(self, steps: Sequence[Step], order: WorkOrder) -> int:
        """Return how many of the steps are timings for a single core."""
        return sum(step in QUIET_STEPS for step in steps) if self._width(order) == 1 else 0

    def _release(self, order: WorkOrder) -> None:
        if not self._needs[order.id]:
            step = self._todo[order.id][0]
            self._queue_for(step, self._width(order) if step in QUIET_STEPS else 1).append(
                Job(step, order, cores=self._width(order) if step in QUIET_STEPS else 1)
            )

    def _add(self, job: Job) -> None:
        self.left[job.step] += 1
        self._queues[job.step].append(job)

    def _queue(self, job: Job) -> deque[Job]:
        return self._queue_for(job.step, job.cores)

    def _queue_for(self, step: Step, cores: int) -> deque[Job]:
        if step not in QUIET_STEPS:
            return self._queues[step]
        return self._wide if cores > 1 else self._queues[Step.TIME]

    def _width(self, order: WorkOrder) -> int:
        """Return a core per thread, as far as there are any."""
        return min(order.args.num_threads, self._cores)


def _applies(step: Step, order: WorkOrder) -> bool:
    if step is Step.COMPILE:
        return order.auto.runtime is RuntimeMode.COMPILED
    if step is Step.DEVICE:
        return order.auto.on_device and order.args.language is Language.PYTHON
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
