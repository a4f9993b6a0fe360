"""Wall time: warm up a loop, choose how many runs make a block, and take blocks until a rule says to stop.

In: a function that times a block of n runs, a clock, and a stopping rule. Out: block seconds and the conditions under
which they were measured. It uses neither torch nor Timer, so a fake clock can drive it in tests.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import time
from collections.abc import Callable
from typing import Any

from photometer.instruments.clock import Clock, clock_resolution_seconds
from photometer.instruments.stopping import StoppingRule
from photometer.model.diagnosis import Conditions
from photometer.stats.summary import median
from photometer.worker.python_loop import PythonLoop

TimeBlock = Callable[[int], float]

# A block is long enough if reading the clock takes less than this share of it
LARGEST_CLOCK_SHARE = 1e-3
# and if it is this many steps of the clock long, so that the step does not matter.
FEWEST_CLOCK_STEPS = 1000
# The number of blocks to aim for: enough for a spread and an interval, but few enough that each is long.
BLOCKS_AIMED_AT = 200
# The largest count that the loop accepts (torch's limit too: a C int).
MOST_RUNS_PER_BLOCK = 2**31 - 1
# A run shorter than this is warmed up, however short the time to measure.
SLOW_RUN_SECONDS = 0.1
# Warm if in this many growing blocks in a row no run is faster than the fastest before by more than the tolerance.
STEADY_BLOCKS = 3
STEADY_TOLERANCE = 0.05


@dataclasses.dataclass(frozen=True)
class WarmUp:
    """The outcome of the warm-up: the number of runs, the seconds per run at the end, and whether they had settled."""

    runs: int
    seconds_per_run: float
    settled: bool


@dataclasses.dataclass(frozen=True)
class Beforehand:
    """What is known about a statement before it is timed.

    The time of its first run, if there was one; the length of a block, if it is not to be a small part of the
    measurement; the number of runs per block, if it is fixed.
    """

    first_seconds: float = 0.0
    block_seconds: float | None = None
    number: int = 0


@dataclasses.dataclass(frozen=True)
class TimedBlocks:
    number_per_run: int
    block_seconds: list[float]
    conditions: Conditions


def warm_up(time_block: TimeBlock, budget_seconds: float, most_runs: int | None = None) -> WarmUp:
    """Run larger and larger blocks until runs get no faster, or the budget is used up. At least two runs are made.

    Lazy initialisation, the first compilation, cold caches and CPython's specialising interpreter all show as
    decreasing times per run; a fixed number of runs is too many for one statement and too few for another.
    """
    runs, spent, number, steady = 0, 0.0, 1, 0
    best = latest = float("inf")
    while True:
        block = max(time_block(number), 1e-9)
        runs, spent, latest = runs + number, spent + block, block / number
        steady = steady + 1 if latest > best * (1 - STEADY_TOLERANCE) else 0
        best = min(best, latest)
        if steady >= STEADY_BLOCKS:
            return WarmUp(runs, best, settled=True)
        enough_runs = most_runs is not None and runs >= most_runs
        if runs >= 2 and (spent >= budget_seconds or enough_runs):
            return WarmUp(runs, best, settled=steady > 0)
        # With doubling, the whole warm-up takes at most twice as long as its last block.
        number = min(number * 2, MOST_RUNS_PER_BLOCK, most_runs or MOST_RUNS_PER_BLOCK) if runs > 1 else 1


def runs_per_block(seconds_per_run: float, block_seconds: float, clock_cost: float, clock_step: float) -> int:
    """Return how many runs make a block at least as long as requested and as the clock needs."""
    wanted = max(block_seconds, clock_cost / LARGEST_CLOCK_SHARE, clock_step * FEWEST_CLOCK_STEPS)
    number = -(-wanted // max(seconds_per_run, 1e-12))
    return int(min(max(number, 1), MOST_RUNS_PER_BLOCK))


def take_blocks(
    time_block: TimeBlock,
    rule: StoppingRule,
    *,
    clock: Clock,
    min_run_time: float,
    callback: Callable[[int, float], Any] | None = None,
    watch: CoreWatch | None = None,
    known: Beforehand | None = None,
) -> TimedBlocks:
    """Do the whole measurement: warm up, choose the block, measure until the rule says to stop.

    A statement whose first run took as long as a whole measurement is not run again to warm it up: its second run is
    the first sample.
    """
    known = known or Beforehand()
    number = known.number
    watch = watch or CoreWatch()
    watch.was_preempted()
    sample = time_block(1) if known.first_seconds >= max(min_run_time, SLOW_RUN_SECONDS) else 0.0
    resolution = clock_resolution_seconds(clock)
    if sample >= max(min_run_time, SLOW_RUN_SECONDS):
        warm, number = WarmUp(1, sample, settled=False), number or 1
    else:
        sample = 0.0
        warm = warm_up(time_block, budget_seconds=max(min_run_time / 4, 0.01))
        if not number:
            clock_cost = median([max(time_block(0), 0.0) for _ in range(5)])
            wanted = min_run_time / BLOCKS_AIMED_AT if known.block_seconds is None else known.block_seconds
            number = runs_per_block(warm.seconds_per_run, wanted, clock_cost, resolution)
            # A warm-up that was disturbed throughout makes a statement look slow: check with blocks.
            while known.block_seconds is not None and 0 < (seconds := time_block(number)) < wanted / 2:
                number = runs_per_block(seconds / number, wanted, clock_cost, resolution)
        watch.was_preempted()

    sieve = BlockSieve()
    look_at, reason = 1, None
    while reason is None:
        seconds, sample = sample or max(time_block(number), 1e-9), 0.0
        sieve.add(seconds, watch.was_preempted())
        if callback is not None:
            callback(number, seconds)
        if sieve.taken >= look_at:
            kept = sieve.kept()
            reason = rule.reason_to_stop([s / number for s in kept], sum(kept))
            look_at = rule.next_look(sieve.taken)
    kept = sieve.kept()
    return TimedBlocks(
        number,
        kept,
        dataclasses.replace(
            watch.conditions(),
            preempted_blocks=sieve.taken - len(kept),
            clock_resolution_seconds=resolution,
            loop_overhead_seconds_per_run=empty_loop_seconds() if watch.is_this_thread else None,
            warmup_runs=warm.runs,
            warmed_up=warm.settled,
            stopped_because=reason,
        ),
    )


class BlockSieve:
    """Sets aside blocks in which another process took the core, because their times are not the statement's alone.

    If most blocks were interrupted (long statements, a busy machine), all are kept.
    """

    def __init__(self) -> None:
        self._all: list[float] = []
        self._undisturbed: list[float] = []

    def add(self, seconds: float, preempted: bool) -> None:
        self._all.append(seconds)
        if not preempted:
            self._undisturbed.append(seconds)

    @property
    def taken(self) -> int:
        return len(self._all)

    def kept(self) -> list[float]:
        """Return the blocks that count, in the order measured."""
        return self._undisturbed if 2 * len(self._undisturbed) >= len(self._all) else self._all


class CoreWatch:
    """Measures how long and how often this thread was kept off its core since the watch was created."""

    is_this_thread = True

    def __init__(self) -> None:
        self._start = self._read()
        self._preemptions = 0.0

    def was_preempted(self) -> bool:
        """Return whether another process has taken the core since the last call."""
        before, self._preemptions = self._preemptions, self._read()[2]
        return self._preemptions > before

    def conditions(self) -> Conditions:
        wall, cpu, preemptions = (now - then for now, then in zip(self._read(), self._start, strict=True))
        known = sys.platform == "linux"
        return Conditions(
            wall_seconds=wall if known else None,
            cpu_seconds=cpu if known else None,
            preemptions=int(preemptions) if known else None,
        )

    @staticmethod
    def _read() -> tuple[float, float, float]:
        if sys.platform != "linux":  # only Linux has per-thread accounting
            return time.perf_counter(), 0.0, 0.0
        import resource

        preemptions = resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw
        return time.perf_counter(), time.thread_time(), float(preemptions)


class BlindWatch(CoreWatch):
    """A watch for a loop in another process: this thread only waits for it, and sees nothing."""

    is_this_thread = False

    def was_preempted(self) -> bool:
        return False

    def conditions(self) -> Conditions:
        return Conditions()


@functools.lru_cache(maxsize=1)
def empty_loop_seconds() -> float:
    """Return the cost of the loop itself per run: the fastest of five on an empty statement, once per process."""
    loop = PythonLoop("pass")
    number = 20_000
    return min(loop.timeit(number) for _ in range(5)) / number
