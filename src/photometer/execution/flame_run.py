"""look_inside: where the time and the instructions of some orders go, in one environment.

In: an environment and the orders. Out: for each a Look: stacks sampled by py-spy in nanoseconds per run, stacks of
Callgrind's exact call tree in instructions per run, and what could not be had, in words. One order's trouble, or a
missing tool, never ends the whole.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from photometer.errors import PhotometerError, ToolMissing
from photometer.execution.measure_order import ReadyOrder
from photometer.execution.order_record import task_spec_of
from photometer.execution.side_preparation import SideName, prepare_side
from photometer.instruments.callgrind.call_tree import folded_stacks
from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.callgrind.counting_server import CountingServer
from photometer.instruments.callgrind.python_frames import below_statement
from photometer.instruments.py_spy import DEFAULT_DURATION_SECONDS, SampledStacks, find_py_spy, sample_loop
from photometer.model.environment import Environment
from photometer.model.instruction_counts import stable_repeat_of
from photometer.plan.work_order import WorkOrders
from photometer.session.fork_server import ForkServer

InstructionStacks = tuple[tuple[tuple[str, ...], float], ...]


@dataclasses.dataclass(frozen=True)
class LookSettings:
    """`sampled` asks py-spy, `counted` asks Callgrind."""

    sampled: bool = True
    counted: bool = False
    duration_seconds: float = DEFAULT_DURATION_SECONDS
    native: bool = True


@dataclasses.dataclass(frozen=True)
class Look:
    """What is known of one order; `problems` say why something is missing."""

    sampled: SampledStacks | None = None
    instructions: InstructionStacks | None = None
    problems: tuple[str, ...] = ()


def look_inside(
    environment: Environment | None,
    plan: WorkOrders,
    settings: LookSettings,
    *,
    side: SideName = "base",
    on_order: Callable[[str], object] = lambda _: None,
) -> dict[str, Look]:
    """By order id, for every order of the plan. `on_order` is told the title before each is looked at."""
    looks = {order.id: Look() for order in plan}
    with ForkServer(environment, small_pages=True) as server:
        prepared = prepare_side(server, plan, side)
        for order_id, error in prepared.failures.items():
            looks[order_id] = _with_problem(looks[order_id], error)
        ready = list(prepared.ready.values())
        if settings.sampled:
            _sample_all(server, ready, settings, looks, on_order)
    if settings.counted:
        _count_all(environment, ready, looks, on_order)
    return looks


def _sample_all(
    server: ForkServer,
    orders: list[ReadyOrder],
    settings: LookSettings,
    looks: dict[str, Look],
    on_order: Callable[[str], object],
) -> None:
    stopped: ToolMissing | None = None
    for ready in orders:
        order = ready.order
        if stopped is None:
            on_order(order.title)
            try:
                find_py_spy()
                sampled = sample_loop(
                    server,
                    ready.preparation(),
                    duration_seconds=settings.duration_seconds,
                    native=settings.native or ready.built is not None,
                    timeout_seconds=order.timeout_seconds,
                )
                looks[order.id] = dataclasses.replace(looks[order.id], sampled=sampled)
                continue
            except ToolMissing as error:
                # What is not there, or not allowed, will not be for the next order either.
                stopped = error
            except PhotometerError as error:
                looks[order.id] = _with_problem(looks[order.id], error)
                continue
        looks[order.id] = _with_problem(looks[order.id], stopped)


def _count_all(
    environment: Environment | None,
    orders: list[ReadyOrder],
    looks: dict[str, Look],
    on_order: Callable[[str], object],
) -> None:
    try:
        with CountingServer(environment, python_frames=True) as server:
            for ready in orders:
                on_order(ready.order.title)
                try:
                    stacks = _instruction_stacks(server, ready)
                    looks[ready.order.id] = dataclasses.replace(looks[ready.order.id], instructions=stacks)
                except PhotometerError as error:
                    if not server.alive:
                        raise
                    looks[ready.order.id] = _with_problem(looks[ready.order.id], error)
    except PhotometerError as error:
        for ready in orders:
            if looks[ready.order.id].instructions is None:
                looks[ready.order.id] = _with_problem(looks[ready.order.id], error)


def _instruction_stacks(server: CountingServer, ready: ReadyOrder) -> InstructionStacks:
    spec = dataclasses.replace(task_spec_of(ready.order), setup=ready.setup)
    task = CountTask(spec, built=ready.built, timeout_seconds=ready.order.timeout_seconds)
    counted = server.count(task)
    profile = counted.profiles[stable_repeat_of(profile.total() for profile in counted.profiles)]
    return tuple((below_statement(stack), count / task.number) for stack, count in folded_stacks(profile))


def _with_problem(look: Look, error: PhotometerError) -> Look:
    words = " ".join(part for part in (error.message.rstrip(".") + ".", error.remedy) if part)
    return look if words in look.problems else dataclasses.replace(look, problems=(*look.problems, words))
