"""A Python statement's instructions by the processor's own counter. In: a loop; out: ProcessorCounts."""

from __future__ import annotations

from photometer.errors import DefinitionError
from photometer.instruments.perf_counter import PerfCounter
from photometer.model.processor_counts import ProcessorCounts
from photometer.model.task import TaskSpec
from photometer.worker.python_loop import PythonLoop

WARMUP_RUNS = 100
"""As for Callgrind: CPython's specialising interpreter has settled by then."""


def count_by_processor(loop: object, task_spec: TaskSpec, number: int, repeats: int) -> ProcessorCounts:
    """Counts in this very process: the collector is off, the layout is whatever it is."""
    if not isinstance(loop, PythonLoop):
        raise DefinitionError(
            "the processor's counter counts Python statements in this process",
            remedy="Use collect_callgrind for C++.",
        )
    if number < 1 or repeats < 1:
        raise DefinitionError(f"number and repeats must be at least 1, not {number} and {repeats}")
    with PerfCounter() as counter:
        counted = []
        for each in (loop, PythonLoop()):
            with each.open_blocks() as run_block:
                run_block(WARMUP_RUNS)
                counter.count(run_block, 0)
                counted.append(tuple(counter.count(run_block, number) for _ in range(repeats)))
    return ProcessorCounts(task_spec, number, counted[0], counted[1])
