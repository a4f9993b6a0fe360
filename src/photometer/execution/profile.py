"""profile: where the time and the instructions of some orders go, in one environment.

In: a session and the orders. Out: for each a Profile: stacks sampled by py-spy in nanoseconds per run, stacks of
Callgrind's exact call tree in instructions per run, and, in words, what could not be recorded. A failing order or a
missing tool does not end the others.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from photometer.errors import PhotometerError, ToolMissing
from photometer.execution.executor import Failure
from photometer.execution.local_executor import LocalExecutor
from photometer.execution.prepare import prepare
from photometer.instruments.callgrind.count_order import count_task_of
from photometer.instruments.callgrind.counter import InstructionCounter, count_in_time
from photometer.instruments.callgrind.python_frames import fitted_stacks
from photometer.instruments.py_spy import DEFAULT_DURATION_SECONDS, SampledStacks, find_py_spy, sample_loop
from photometer.instruments.ready_order import ReadyOrder, preparation_of
from photometer.instruments.timeline import Timeline, record_timeline
from photometer.plan.work_order import WorkOrders
from photometer.session.session import Session

InstructionStacks = tuple[tuple[tuple[str, ...], float], ...]
OnOrder = Callable[[str], object]


@dataclasses.dataclass(frozen=True)
class ProfileSettings:
    """Which tools to use: `sampled` py-spy, `counted` Callgrind, `watched` torch's profiler."""

    sampled: bool = True
    counted: bool = False
    duration_seconds: float = DEFAULT_DURATION_SECONDS
    native: bool = True
    watched: bool = False


@dataclasses.dataclass(frozen=True)
class Profile:
    """The profile of one order; `problems` say why something is missing."""

    sampled: SampledStacks | None = None
    instructions: InstructionStacks | None = None
    timeline: Timeline | None = None
    problems: tuple[str, ...] = ()

    def with_problem(self, error: PhotometerError | Failure) -> Profile:
        words = " ".join(part for part in (error.message.rstrip(".") + ".", error.remedy) if part)
        return self if words in self.problems else dataclasses.replace(self, problems=(*self.problems, words))


def profile(
    session: Session,
    plan: WorkOrders,
    settings: ProfileSettings,
    *,
    side: str = "a",
    on_order: OnOrder = lambda _: None,
) -> dict[str, Profile]:
    """Return the profiles by order id, for every order of the plan. `on_order` gets the title before each."""
    profiles = {order.id: Profile() for order in plan}
    prepared = prepare(plan, LocalExecutor(session), session.facts(), side=side)
    for order_id, failure in prepared.failures.items():
        profiles[order_id] = profiles[order_id].with_problem(failure)
    ready = list(prepared.ready.values())
    if settings.sampled:
        _sample_all(session, ready, settings, profiles, on_order)
    if settings.counted:
        _count_all(session, ready, profiles, on_order)
    for each in ready:
        # What an accelerator does is in no sample of the host's.
        if settings.watched or each.order.auto.on_device:
            on_order(each.order.short_title)
            profiles[each.order.id] = _watched(session, each, profiles[each.order.id])
    return profiles


def _watched(session: Session, ready: ReadyOrder, one: Profile) -> Profile:
    if ready.order.auto.ranks:
        return one
    try:
        return dataclasses.replace(one, timeline=record_timeline(session, ready))
    except PhotometerError as error:
        return one.with_problem(error)


def _sample_all(
    session: Session,
    orders: list[ReadyOrder],
    settings: ProfileSettings,
    profiles: dict[str, Profile],
    on_order: OnOrder,
) -> None:
    stopped: ToolMissing | None = None
    for ready in orders:
        order = ready.order
        if stopped is None:
            on_order(order.short_title)
            try:
                find_py_spy()
                sampled = sample_loop(
                    session,
                    preparation_of(session, ready),
                    duration_seconds=settings.duration_seconds,
                    native=settings.native or ready.built is not None,
                    timeout_seconds=order.timeout_seconds,
                )
                profiles[order.id] = dataclasses.replace(profiles[order.id], sampled=sampled)
                continue
            except ToolMissing as error:
                # What is not there, or not allowed, will not be for the next order either.
                stopped = error
            except PhotometerError as error:
                profiles[order.id] = profiles[order.id].with_problem(error)
                continue
        profiles[order.id] = profiles[order.id].with_problem(stopped)


def _count_all(session: Session, orders: list[ReadyOrder], profiles: dict[str, Profile], on_order: OnOrder) -> None:
    counter = InstructionCounter(session, python_frames=True)
    try:
        for ready in orders:
            on_order(ready.order.short_title)
            try:
                stacks = _instruction_stacks(counter, ready)
                profiles[ready.order.id] = dataclasses.replace(profiles[ready.order.id], instructions=stacks)
            except PhotometerError as error:
                profiles[ready.order.id] = profiles[ready.order.id].with_problem(error)
    finally:
        counter.close()


def _instruction_stacks(counter: InstructionCounter, ready: ReadyOrder) -> InstructionStacks:
    """Return instructions per run outside the allocator: the figure that counts and comparisons show."""
    task = count_task_of(ready)
    counted = count_in_time(counter, task)
    counts = counted.instruction_counts()
    stacks = fitted_stacks(counter.count(counted.task, python_frames=True).stacks(), counts)
    return tuple((stack, count / task.number) for stack, count in stacks)
