"""One replicate: alternating blocks of two or more sides, so that whatever slows the machine slows all of them.

In: sides (a session and what its child prepares) and how long to measure. Out: the seconds per run of blocks that were
neighbours in time. A fresh fork per side, so that a replicate also samples what differs between processes; one core,
so that conditions are the same for all; random order within each round, so that no side profits from another's caches.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from photometer.instruments.clock import Clock
from photometer.instruments.settled_memory import settle_memory
from photometer.instruments.wall_time import MOST_RUNS_PER_BLOCK, TimeBlock
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS
from photometer.session.child_process import ChildProcess
from photometer.session.cores import neighbours
from photometer.session.session import ServerKind
from photometer.worker.messages import Prepare, Time

# Long enough that reading the clock and the messages around a block (0.1 ms) do not matter, short enough that the
# blocks of a round run under the same conditions: interrupts come every few milliseconds.
BLOCK_SECONDS = 5e-4
# With several threads: those of the side measured before spin for some tenths of a millisecond, waiting for more work
# (session/policy.py). It showed in blocks of 0.5 ms, and with blocks of 5 ms a replicate has too few for a floor.
THREADS_BLOCK_SECONDS = 2e-3
# CPython's specialising interpreter needs some tens of runs to settle; 100 are enough.
WARMUP_RUNS = 100
# Blocks that are discarded before those that count, to warm a fresh fork's caches and branch predictors.
WARMUP_BLOCKS = 4
# A block this many times longer than wanted is a single slow run: it is not repeated without need.
SLOW_BLOCKS = 20.0
# A replicate with fewer rounds has no useful floor, however slow the statement is.
FEWEST_ROUNDS = 6
# Block sizes of an earlier replicate are reused unless blocks have become this many times longer or shorter.
SIZE_DRIFT = 2.0
# Sides whose times differ by a larger factor are not alike; two revisions of one statement seldom do.
LIKE_SIDES = 3.0
# Long enough for more than a hundred rounds; forks and warm-up take about 0.05 s more.
REPLICATE_SECONDS = 0.15
# A fork that opens an accelerator takes 1 to 2 s before it measures. Keeping forks open was tried on an H200: times of
# kernels of 2 us differ by up to 8 % between processes, so that few processes give false verdicts.
DEVICE_REPLICATE_SECONDS = 0.5
# Seeds of memory layouts and of data.
LARGEST_SEED = 2**31


class Forks(Protocol):
    """Provides fresh forks: a session those of its servers, `ForksHere` those of this process."""

    def child(
        self, kind: ServerKind = ..., cores: Sequence[int] = ...
    ) -> contextlib.AbstractContextManager[ChildProcess]: ...

    def start_ahead(self, kinds: Iterable[ServerKind], cores: Sequence[int] = ()) -> None: ...


@dataclasses.dataclass(frozen=True)
class Side:
    """The source of its forks (an environment's session), and their Prepare."""

    session: Forks
    prepare: Prepare

    @property
    def processors(self) -> int:
        """How many cores it keeps busy: one for each thread of each rank."""
        return self.prepare.num_threads * max(self.prepare.ranks, 1)


@dataclasses.dataclass(frozen=True)
class Replicate:
    """Seconds per run of every side's blocks, whose i-th blocks were neighbours, and the time they took."""

    seconds_per_run: tuple[tuple[float, ...], ...]
    runs_per_block: tuple[int, ...]
    measuring_seconds: float
    whole_seconds: float
    # The wanted length of a block.
    block_seconds: float = BLOCK_SECONDS

    def sizes_to_use_again(self) -> tuple[int, ...]:
        """Return the runs per block if they fit these times; otherwise nothing, and the next replicate chooses.

        Sizes that were chosen while something else ran may differ between similar sides, which is a bias.
        """
        wanted = _filling([min(side) for side in self.seconds_per_run], self.block_seconds)
        both = list(zip(self.runs_per_block, wanted, strict=True))
        fit = all(max(runs, want) <= SIZE_DRIFT * min(runs, want) for runs, want in both)
        same_kind = len(set(self.runs_per_block)) == len(set(wanted))
        return self.runs_per_block if fit and same_kind else ()


def take_replicate(
    sides: Sequence[Side],
    *,
    kind: ServerKind,
    core: int | None,
    order: random.Random,
    seconds: float = REPLICATE_SECONDS,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    scatter: bool = True,
    runs_per_block: Sequence[int] = (),
) -> Replicate:
    """Fork all sides, draw their memory layouts and their data, warm them up, and alternate blocks for `seconds`.

    One thread runs on `core`, with a core for each side if they prepare at once. A statement of several threads gets
    as many cores on each side, for on one its threads would only wait for each other. If the device keeps the time, the
    host's cores do not matter, and on one the sides would wait for each other to open the device and to compile.
    `runs_per_block` are the sizes of an earlier replicate of the same sides.
    """
    began = time.perf_counter()
    threads = max(side.processors for side in sides)
    on_device = any(side.prepare.device_time for side in sides)
    bound = not on_device and (core is not None or threads > 1)
    at_once = _prepare_at_once(sides)
    cores = neighbours(core, max(threads, len(sides) if at_once else 1)) if bound else ()
    with contextlib.ExitStack() as stack:
        # Sides of one session change servers at random: what is peculiar to a server is then noise, not a bias.
        placed = order.sample(range(len(sides)), len(sides))
        kinds = [kind.importing(side.prepare) for side in sides]
        forks = {place: stack.enter_context(sides[place].session.child(kinds[place], cores)) for place in placed}
        children = [forks[place] for place in range(len(sides))]
        prepares = [dataclasses.replace(each, warmup_runs=1) for each in _laid_out(sides, order, scatter=scatter)]
        _prepare_all(children, prepares, timeout_seconds, at_once=at_once)
        if not on_device and not any(side.prepare.ranks for side in sides):
            settle_memory(children, timeout_seconds)
        time_blocks = [
            _block_of(child, timeout_seconds, wakes=any(side.prepare.num_threads > 1 for side in sides))
            for child in children
        ]
        blocks = alternate(
            time_blocks,
            seconds=seconds,
            order=order,
            runs_per_block=runs_per_block,
            block_seconds=THREADS_BLOCK_SECONDS if threads > 1 else BLOCK_SECONDS,
        )
    return dataclasses.replace(blocks, whole_seconds=time.perf_counter() - began)


def _laid_out(sides: Sequence[Side], order: random.Random, *, scatter: bool) -> list[Prepare]:
    """Draw the seed of the data, one for all sides, and the layouts: one for all sides that have the same set-up.

    Sides with the same set-up then have the same addresses, and their difference has less noise. With different set-ups
    addresses differ anyway: in one layout for all, their distance would be the same in each replicate, and a statement
    that is sensitive to it (a copy whose target lies just behind its source, modulo a page) would seem slower or faster
    by a per cent. Data that differ from replicate to replicate are noise, which the interval covers; data that differ
    between sides would be a difference of the sides. A side that has its own seed (the user's) keeps it.
    """
    layouts = {side.prepare.setup: order.randrange(1, LARGEST_SEED) if scatter else 0 for side in sides}
    drawn = order.randrange(LARGEST_SEED)
    return [
        dataclasses.replace(
            side.prepare,
            layout_seed=layouts[side.prepare.setup],
            seed=drawn if side.prepare.seed is None else side.prepare.seed,
        )
        for side in sides
    ]


def _prepare_at_once(sides: Sequence[Side]) -> bool:
    """Return whether sides prepare at the same time: opening an accelerator or loading compiled code takes seconds."""
    return any(side.prepare.device_time or side.prepare.compile_cache for side in sides)


def _prepare_all(
    children: Sequence[ChildProcess], prepares: Sequence[Prepare], timeout_seconds: float, *, at_once: bool
) -> None:
    """Let every child prepare, one after the other or all at once."""
    both = list(zip(children, prepares, strict=True))
    if not at_once:
        for child, prepare in both:
            child.ask(prepare, timeout_seconds)
        return
    with ThreadPoolExecutor(len(both)) as threads:
        opened = [threads.submit(child.ask, prepare, timeout_seconds) for child, prepare in both]
    for each in opened:
        each.result()


def alternate(
    time_blocks: Sequence[TimeBlock],
    *,
    seconds: float,
    order: random.Random,
    runs_per_block: Sequence[int] = (),
    block_seconds: float = BLOCK_SECONDS,
    clock: Clock = time.perf_counter,
) -> Replicate:
    """Alternate blocks of all sides, in random order, for about `seconds`.

    How many runs fill a block is determined first, unless an earlier replicate has done so.
    """
    numbers = list(runs_per_block) or _runs_per_block(time_blocks, block_seconds)
    if runs_per_block or max(numbers) > 1:
        _warm_up(time_blocks, numbers, block_seconds)
    rounds: list[list[float]] = []
    places = list(range(len(time_blocks)))
    started = clock()
    while len(rounds) < FEWEST_ROUNDS or clock() - started < seconds:
        order.shuffle(places)
        blocks = [0.0] * len(places)
        for place in places:
            blocks[place] = max(time_blocks[place](numbers[place]), 1e-9) / numbers[place]
        rounds.append(blocks)
    spent = clock() - started
    return Replicate(tuple(zip(*rounds, strict=True)), tuple(numbers), spent, spent, block_seconds)


def _block_of(child: ChildProcess, timeout_seconds: float, *, wakes: bool) -> Callable[[int], float]:
    """Return a function that times a block; with `wakes`, after a run that wakes the statement's threads."""

    def time_block(number: int) -> float:
        if wakes:
            child.ask(Time(1), timeout_seconds)
        return child.ask(Time(number), timeout_seconds).seconds

    return time_block


def _runs_per_block(time_blocks: Sequence[TimeBlock], block_seconds: float) -> list[int]:
    """Return how many runs fill a block; the same on all sides if they are alike, so that overhead affects all equally.

    Sides that differ (a rung of overriding may take 50 times as long as the one below) each have their own number: with
    one number, a block would be too short to settle on one side, or too long to stay undisturbed on the other.
    """
    number = 1

    def once() -> list[float]:
        return [time_block(number) for time_block in time_blocks]

    def undisturbed(first: list[float]) -> list[float]:
        """Return the best of three, if that is cheap: one interruption must not make similar sides look different."""
        tries = [first, once(), once()] if max(first) < SLOW_BLOCKS * block_seconds else [first]
        return [min(each) for each in zip(*tries, strict=True)]

    while True:
        seconds = once()
        if max(seconds) >= block_seconds / 4:
            seconds = undisturbed(seconds)
        if max(seconds) >= block_seconds / 4 or number >= MOST_RUNS_PER_BLOCK:
            break
        number *= 2
    # A few more runs settle the interpreter before the size is fixed.
    if number < WARMUP_RUNS and max(seconds) < block_seconds:
        for time_block in time_blocks:
            time_block(WARMUP_RUNS)
        seconds = undisturbed(once())
    return _filling([each / number for each in seconds], block_seconds)


def _filling(seconds_per_run: Sequence[float], block_seconds: float) -> list[int]:
    """Return how many runs of each side fill a block; the same number if the sides are alike."""
    filling = [max(round(block_seconds / max(each, 1e-12)), 1) for each in seconds_per_run]
    return filling if max(filling) > LIKE_SIDES * min(filling) else [max(filling)] * len(filling)


def _warm_up(time_blocks: Sequence[TimeBlock], numbers: Sequence[int], block_seconds: float) -> None:
    """Run some blocks of all sides and discard them; one, if a single run is slow.

    Choosing the sizes has already run a slow statement.
    """
    for _ in range(WARMUP_BLOCKS):
        seconds = [time_block(runs) for time_block, runs in zip(time_blocks, numbers, strict=True)]
        if max(seconds) >= SLOW_BLOCKS * block_seconds:
            return
