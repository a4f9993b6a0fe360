"""The whole measurement of one statement: warm-up, host modes, device modes, the graph, and what limits it.

In: a statement ready to run, an accelerator, options. Out: a DeviceMeasurement. torch is used only through the
accelerator, so a fake one can drive it in tests.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from photometer.instruments.clock import Clock
from photometer.instruments.device.accelerator import Accelerator
from photometer.instruments.device.blocks import BLOCKS_AIMED_AT, Pace
from photometer.instruments.device.device_times import DeviceTimer, DeviceTimes, device_mode
from photometer.instruments.device.findings import (
    Noticed,
    bound_in_words,
    constant_inputs,
    measured_peak,
    warnings_from,
)
from photometer.instruments.device.host_side import (
    MOST_SYNCHRONISED_RUNS,
    find_pace,
    host_blocks,
    memory_use,
    synchronised_blocks,
    synchronises,
)
from photometer.instruments.device.options import DeviceOptions
from photometer.instruments.device.statement import Statement, capture_run, open_native, open_statement, why_no_graph
from photometer.instruments.wall_time import warm_up
from photometer.model.device_measurement import DeviceMeasurement, DeviceMode, MemoryUse, ModeName, Peak, Source
from photometer.model.task import TaskSpec

# Warming up may take this share of a mode's time: the clock rises from idle within milliseconds.
WARM_UP_SHARE = 0.5


def measure_text(
    stmt: str, setup: str, globals: Mapping[str, Any], task_spec: TaskSpec, device: str | None, options: DeviceOptions
) -> DeviceMeasurement:
    """Measure a statement given as text, on the accelerator of this process."""
    from photometer.instruments.device.torch_accelerator import open_accelerator

    accelerator = open_accelerator(device)
    return measure_statement(lambda: open_statement(stmt, setup, globals), accelerator, task_spec, options)


def measure_native(
    library: str, symbol: str, task_spec: TaskSpec, device: str | None, options: DeviceOptions
) -> DeviceMeasurement:
    """Measure a compiled C++ statement, on the accelerator of this process."""
    from photometer.instruments.device.torch_accelerator import open_accelerator

    accelerator = open_accelerator(device)
    return measure_statement(lambda: open_native(library, symbol), accelerator, task_spec, options)


def measure_statement(
    open_fresh: Callable[[], AbstractContextManager[Statement]],
    accelerator: Accelerator,
    task_spec: TaskSpec,
    options: DeviceOptions,
    *,
    clock: Clock = time.perf_counter,
) -> DeviceMeasurement:
    """Measure all modes, ordered so that none disturbs the next: a profiler slows launches, a capture may fail."""
    try:
        with open_fresh() as statement:
            taken = _take(statement, accelerator, options, clock)
        if accelerator.profiler is not None:
            accelerator.profiler.detach()
        graph = _graph_mode(open_fresh, accelerator, taken, clock)
    finally:
        accelerator.queue.release()
    return _measurement(taken, graph, accelerator, task_spec, options)


@dataclass(frozen=True)
class _Taken:
    """The measurements while the statement was open."""

    timer: DeviceTimer
    times: DeviceTimes
    host: DeviceMode
    end_to_end: DeviceMode
    memory: MemoryUse | None
    noticed: Noticed


def _take(statement: Statement, accelerator: Accelerator, options: DeviceOptions, clock: Clock) -> _Taken:
    run, queue = statement.run, accelerator.queue

    def finished_block(runs: int) -> float:
        start = clock()
        run(runs)
        queue.synchronize()
        return clock() - start

    first_call_seconds = finished_block(1)
    warm_up(finished_block, budget_seconds=options.min_run_time * WARM_UP_SHARE)
    pace = find_pace(accelerator, run, clock)
    constant = constant_inputs(statement.variables(), accelerator.kind)
    waits = synchronises(accelerator, run, pace)
    was_attached = accelerator.profiler is not None and accelerator.profiler.attached()
    memory = memory_use(accelerator, run)
    host, end_to_end = _host_modes(statement, accelerator, pace, options, clock)

    # Allocate the buffer that flushes the cache before the growth of memory is watched.
    queue.flush_cache()
    reserved_before = _reserved(accelerator)
    timer = DeviceTimer(accelerator, run, pace, options, clock=clock)
    hot, cold = timer.by_events()
    grown = _reserved(accelerator) - reserved_before
    times = timer.with_profiler(hot, cold, synchronises=waits)
    noticed = Noticed(
        first_call_seconds=first_call_seconds,
        end_to_end_seconds=pace.end_to_end_seconds,
        synchronises=waits,
        constant_inputs=constant,
        reserved_bytes_grown=grown,
        launch_hidden=times.launch_hidden,
        profiler_was_attached=was_attached,
        profiler_failure=times.profiler_failure,
        has_device_work=times.has_device_work,
        blocks=times.blocks,
    )
    return _Taken(timer, times, host, end_to_end, memory, noticed)


def _measurement(
    taken: _Taken, graph: DeviceMode, accelerator: Accelerator, task_spec: TaskSpec, options: DeviceOptions
) -> DeviceMeasurement:
    times, noticed = taken.times, taken.noticed
    peak = _peak(accelerator, options)
    return DeviceMeasurement(
        task_spec=task_spec,
        device_name=accelerator.name,
        device_kind=accelerator.kind,
        modes=(taken.host, times.hot, times.cold, graph, taken.end_to_end),
        bound=bound_in_words(
            taken.host.seconds,
            times.hot.median if noticed.has_device_work else None,
            cold_seconds=times.cold.median if noticed.has_device_work else None,
            synchronises=noticed.synchronises,
            bytes_per_run=options.bytes_per_run,
            flops_per_run=options.flops_per_run,
            peak=peak,
        ),
        kernels=None if times.facts is None else times.facts.kernels,
        memory=taken.memory,
        bytes_per_run=options.bytes_per_run,
        flops_per_run=options.flops_per_run,
        peak=peak,
        first_call_seconds=noticed.first_call_seconds,
        warnings=warnings_from(noticed, times.hot, times.cold),
    )


def _host_modes(
    statement: Statement, accelerator: Accelerator, pace: Pace, options: DeviceOptions, clock: Clock
) -> tuple[DeviceMode, DeviceMode]:
    block_seconds = options.min_run_time / BLOCKS_AIMED_AT
    runs = pace.hot_runs(block_seconds)
    host = host_blocks(
        accelerator,
        statement.run,
        runs,
        options.stopping_rule(),
        clock=clock,
        patience_seconds=options.min_run_time,
    )
    one_by_one = max(1, min(MOST_SYNCHRONISED_RUNS, int(block_seconds / pace.end_to_end_seconds)))
    whole = synchronised_blocks(
        accelerator,
        statement.run,
        one_by_one,
        options.stopping_rule(),
        clock=clock,
        patience_seconds=options.min_run_time,
    )
    return (
        DeviceMode(ModeName.HOST, host, runs, Source.HOST_CLOCK),
        DeviceMode(ModeName.END_TO_END, whole, one_by_one, Source.HOST_CLOCK),
    )


def _graph_mode(
    open_fresh: Callable[[], AbstractContextManager[Statement]], accelerator: Accelerator, taken: _Taken, clock: Clock
) -> DeviceMode:
    """Time the graph last, with its own set-up on a side stream, so that no earlier autograd graph is tied to it."""
    noticed = taken.noticed
    refusal = why_no_graph(accelerator, synchronises=noticed.synchronises, has_work=noticed.has_device_work)
    if accelerator.graphs is None or refusal is not None:
        return DeviceMode(ModeName.GRAPH_REPLAY, absent_because=refusal)
    with accelerator.graphs.aside(), open_fresh() as statement:
        replays = capture_run(accelerator.graphs, accelerator.queue, statement.run, clock)
        if isinstance(replays, str):
            return DeviceMode(ModeName.GRAPH_REPLAY, absent_because=replays)
        host_seconds = find_pace(accelerator, replays, clock).host_seconds_per_run
        return device_mode(ModeName.GRAPH_REPLAY, taken.timer.replays(replays, host_seconds), Source.EVENTS)


def _peak(accelerator: Accelerator, options: DeviceOptions) -> Peak | None:
    if options.bytes_per_run is None and options.flops_per_run is None:
        return None
    return measured_peak(
        accelerator,
        memory=options.bytes_per_run is not None,
        flops_dtype=options.flops_dtype if options.flops_per_run is not None else None,
    )


def _reserved(accelerator: Accelerator) -> int:
    return accelerator.memory.read().reserved_bytes if accelerator.memory is not None else 0
