"""Host measurements: its own time per run, the time to a finished result, whether a run waits, and memory."""

from __future__ import annotations

from collections.abc import Callable

from photometer.instruments.clock import Clock
from photometer.instruments.device.accelerator import Accelerator, RunBlock
from photometer.instruments.device.blocks import FEWEST_BLOCKS, PATIENCE, Pace
from photometer.instruments.stopping import StoppingRule
from photometer.model.device_measurement import MemoryUse
from photometer.stats.summary import mean, median

# Runs from which the pace is measured.
PACE_RUNS = 7
# If the device is held for this many times a run's host time, only a run that waits for it takes longer.
HOLD_FACTOR = 20.0
SHORTEST_TEST_HOLD_SECONDS = 2e-3
LONGEST_TEST_HOLD_SECONDS = 0.5
# Runs per block with synchronisation: each is timed by itself, then their mean is taken.
MOST_SYNCHRONISED_RUNS = 50


def find_pace(accelerator: Accelerator, run: RunBlock, clock: Clock) -> Pace:
    host, whole = [], []
    for _ in range(PACE_RUNS):
        accelerator.queue.synchronize()
        start = clock()
        host.append(run(1))
        accelerator.queue.synchronize()
        whole.append(clock() - start)
    return Pace(max(min(host), 1e-7), max(median(whole), 1e-7))


def synchronises(accelerator: Accelerator, run: RunBlock, pace: Pace) -> bool:
    """Return whether a run waits for the device: with the device held, such a run returns only after the hold."""
    queue = accelerator.queue
    hold = max(
        SHORTEST_TEST_HOLD_SECONDS,
        min(HOLD_FACTOR * pace.host_seconds_per_run, LONGEST_TEST_HOLD_SECONDS),
        1.5 * pace.host_seconds_per_run,
    )
    # Twice: a single interruption of the host may take longer than the hold.
    for _ in range(2):
        queue.synchronize()
        queue.hold(hold)
        held = queue.mark()
        run(1)
        waited = queue.has_passed(held)
        queue.synchronize()
        if not waited:
            return False
    return True


def host_blocks(
    accelerator: Accelerator, run: RunBlock, runs: int, rule: StoppingRule, *, clock: Clock, patience_seconds: float
) -> tuple[float, ...]:
    """Return host seconds per run, from blocks too short to fill the device's queue; waits in between are not timed."""

    def block() -> float:
        accelerator.queue.synchronize()
        seconds = run(runs) / runs
        accelerator.queue.synchronize()
        return seconds

    return _until(block, rule, clock, patience_seconds)


def synchronised_blocks(
    accelerator: Accelerator, run: RunBlock, runs: int, rule: StoppingRule, *, clock: Clock, patience_seconds: float
) -> tuple[float, ...]:
    """Return seconds from the call to the finished result, for one run at a time."""

    def block() -> float:
        seconds = []
        for _ in range(runs):
            start = clock()
            run(1)
            accelerator.queue.synchronize()
            seconds.append(clock() - start)
        return mean(seconds)

    accelerator.queue.synchronize()
    return _until(block, rule, clock, patience_seconds)


def memory_use(accelerator: Accelerator, run: RunBlock) -> MemoryUse | None:
    """Return the peak memory of one run, and what was allocated before it."""
    if accelerator.memory is None:
        return None
    accelerator.queue.synchronize()
    before = accelerator.memory.read().allocated_bytes
    accelerator.memory.reset_peak()
    run(1)
    accelerator.queue.synchronize()
    return MemoryUse(accelerator.memory.read().peak_bytes, before)


def _until(block: Callable[[], float], rule: StoppingRule, clock: Clock, patience: float) -> tuple[float, ...]:
    times: list[float] = []
    start = clock()
    while True:
        times.append(max(block(), 1e-9))
        spent = clock() - start
        enough = len(times) >= FEWEST_BLOCKS or spent >= PATIENCE * patience
        if enough and rule.reason_to_stop(times, spent) is not None:
            return tuple(times)
