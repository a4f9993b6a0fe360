"""Instructions of a work order: its task for the counter, and the record that a run keeps, with its call stacks."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from photometer.instruments.callgrind.count_task import DEFAULT_NUMBER, CountTask
from photometer.instruments.callgrind.counter import count_in_time, counter_of
from photometer.instruments.callgrind.python_frames import fitted_stacks
from photometer.instruments.declaration import Asked, Figure, Instrument, Option
from photometer.instruments.ready_order import ReadyOrder, task_spec_of
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.packed_stacks import SMALLEST_SHARE, pack_stacks
from photometer.model.records import to_record
from photometer.plan.work_order import WorkOrder
from photometer.session.session import Session


def counts_on_host(order: WorkOrder, options: Mapping[str, bool]) -> bool:
    """Return whether Valgrind can count the order: it sees only the host, not the kernels of an accelerator."""
    return order.counts_instructions and not order.auto.on_device


def count_task_of(ready: ReadyOrder, repeats: int = 1) -> CountTask:
    spec = dataclasses.replace(task_spec_of(ready.order), setup=ready.setup)
    order = ready.order
    return CountTask(
        spec,
        built=ready.built,
        repeats=repeats,
        timeout_seconds=order.timeout_seconds,
        preload=order.preload,
        seed=order.seed,
    )


def count_order(session: Session, asked: Asked) -> dict[str, Any]:
    """Count the order; if it is too slow for the usual number of runs under Valgrind, in fewer runs."""
    task = count_task_of(asked.ready, asked.repeats)
    counted = count_in_time(counter_of(session), task, seconds_per_run=asked.seconds_per_run, cores=asked.cores)
    counts = counted.instruction_counts()
    if counted.task.number < DEFAULT_NUMBER:
        runs = "a single run" if counted.task.number == 1 else f"{counted.task.number} runs"
        reason = f"counted in {runs}, not {DEFAULT_NUMBER}, because it is slow under Valgrind"
        counts = dataclasses.replace(counts, reasons=(*counts.reasons, reason))
    # For the report's icicle chart: 20 ms and some 10 KB per statement.
    stacks = fitted_stacks(counted.stacks(smallest_share=SMALLEST_SHARE), counts)
    counts = dataclasses.replace(counts, task_spec=task_spec_of(asked.order))
    return {**to_record(counts), "stacks": pack_stacks(stacks)}


INSTRUCTIONS = Instrument(
    name="count",
    doing="counting",
    record=InstructionCounts,
    measure=count_order,
    figures=(
        Figure("instructions", "instructions", of=lambda counts: counts.outside_allocator_per_run, exact=True),
        Figure("allocator_calls", "calls", of=lambda counts: counts.allocator_calls_per_run, exact=True),
    ),
    option=Option("instructions", "Count instructions (needs Valgrind).", default=True),
    applies=counts_on_host,
    under_valgrind=True,
)
