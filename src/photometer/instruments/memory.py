"""Memory of a statement, in a child of a session or in this process. Exact, even on a busy machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from photometer.instruments.cpp.snippet import BuiltSnippet
from photometer.model.memory_measurement import MemoryFigures, MemoryMeasurement
from photometer.model.task import TaskSpec
from photometer.session.child_process import DEFAULT_TIMEOUT_SECONDS, ChildProcess
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
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
) -> MemoryMeasurement:
    """Prepare the statement in a fresh child and measure what its runs allocate there."""
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


def memory_of_built(built: BuiltSnippet, task_spec: TaskSpec, *, repeats: int = REPEATS) -> MemoryMeasurement:
    """Measure a C++ statement in a child of this process's session."""
    prepare = Prepare(
        library=str(built.library), symbol=built.symbol, num_threads=task_spec.num_threads, device=ANY_DEVICE
    )
    with process_session().child() as child:
        return memory_in_child(child, prepare, task_spec, repeats=repeats)
