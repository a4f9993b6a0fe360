"""Memory of a statement or an order, in a child of a session or in this process. Exact, even on a busy machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from photometer.instruments.cpp.snippet import BuiltSnippet
from photometer.instruments.declaration import Figure, Instrument, Option
from photometer.instruments.ready_order import ReadyOrder, kind_of, preparation_of, task_spec_of
from photometer.model.memory_measurement import MemoryFigures, MemoryMeasurement
from photometer.model.task import TaskSpec
from photometer.session.child_process import LONGEST_REQUEST_SECONDS, ChildProcess
from photometer.session.session import Session
from photometer.session.shared import process_session
from photometer.worker.messages import ANY_DEVICE, MeasuredMemory, MeasureMemory, Prepare

# Runs whose figures are kept: enough to tell the usual one from an outlier.
REPEATS = 3


def memory_in_child(
    child: ChildProcess,
    prepare: Prepare,
    task_spec: TaskSpec,
    *,
    repeats: int = REPEATS,
    timeout_seconds: float = LONGEST_REQUEST_SECONDS,
) -> MemoryMeasurement:
    """Prepare the statement in a fresh child and measure the allocations of its runs there."""
    # No warm-up: memory that such a run leaves would later be freed without having been counted.
    named = "" if prepare.device == ANY_DEVICE else prepare.device
    child.ask(dataclasses.replace(prepare, warmup_runs=0, device_time=False, device=named), timeout_seconds)
    return memory_measurement(child.ask(MeasureMemory(repeats, prepare.device), timeout_seconds), task_spec)


def memory_measurement(taken: MeasuredMemory, task_spec: TaskSpec) -> MemoryMeasurement:
    return MemoryMeasurement(
        task_spec,
        _figures(taken.repeats),
        taken.device,
        _figures(taken.device_repeats),
        taken.device_reserved_bytes,
        taken.process_peak_bytes,
    )


def _figures(repeats: Sequence[Sequence[int]]) -> tuple[MemoryFigures, ...]:
    return tuple(MemoryFigures(*figures) for figures in repeats)


def memory_here(
    stmt: str, setup: str, names: dict[str, Any], task_spec: TaskSpec, *, repeats: int = REPEATS
) -> MemoryMeasurement:
    """Measure a Python statement in this process, with its objects."""
    from photometer.worker.memory import opened_device, take_memory
    from photometer.worker.python_loop import PythonLoop
    from photometer.worker.threads import set_torch_threads
    from photometer.worker.user_error import name_the_line

    loop = PythonLoop(stmt, setup, globals=names)
    try:
        with set_torch_threads(task_spec.num_threads), loop.open_blocks() as run_block:
            taken = take_memory(run_block, repeats, opened_device)
    except Exception as error:
        name_the_line(error, loop.source_name)
        raise
    return memory_measurement(taken, task_spec)


def memory_of_built(
    built: BuiltSnippet, task_spec: TaskSpec, *, repeats: int = REPEATS, seed: int | None = None
) -> MemoryMeasurement:
    """Measure a C++ statement in a child of this process's session."""
    prepare = Prepare(
        library=str(built.library),
        symbol=built.symbol,
        num_threads=task_spec.num_threads,
        device=ANY_DEVICE,
        seed=seed,
    )
    with process_session().child() as child:
        return memory_in_child(child, prepare, task_spec, repeats=repeats)


def take_memory(session: Session, ready: ReadyOrder, cores: Sequence[int] = ()) -> MemoryMeasurement:
    """Measure the memory of one run of a work order, in a child of its own."""
    order = ready.order
    prepare = preparation_of(session, ready, cores)
    if ready.waits_for_device:
        prepare = dataclasses.replace(prepare, device=ANY_DEVICE)
    with session.child(kind_of(order), cores) as child:
        return memory_in_child(child, prepare, task_spec_of(order), timeout_seconds=order.timeout_seconds)


MEMORY = Instrument(
    name="memory",
    doing="measuring memory",
    record=MemoryMeasurement,
    measure=lambda session, asked: take_memory(session, asked.ready, asked.cores),
    figures=(
        Figure("peak_bytes", "bytes", of=lambda use: use.peak_bytes, exact=True),
        Figure("allocated_bytes", "bytes", of=lambda use: use.allocated_bytes, exact=True),
        Figure("allocations", "allocations", of=lambda use: use.allocations, exact=True),
    ),
    option=Option("memory", "Measure what one run allocates: peak, bytes, number of blocks."),
    first_guess_seconds=0.2,
)
