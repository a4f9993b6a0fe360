"""Duet: one replicate of a live comparison. A fresh fork on each side, and blocks of runs that alternate on one core.

In: two sides (a started server and what its child prepares), a core, and how long to measure. Out: the seconds per run
of neighbouring blocks of the two sides. One core, so that both meet the same machine; random order within each pair, so
that what one leaves in the caches favours neither; a fresh fork, so that a replicate is a sample of that luck too.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
import time
from typing import Any

from photometer.session.fork_server import ChildProcess, ForkServer

# Long enough that reading the clock and the messages around a block (0.1 ms) do not show in it, short enough that the
# two blocks of a pair meet the same machine: interrupts come every few milliseconds.
BLOCK_SECONDS = 5e-4
# CPython's specialising interpreter needs some tens of runs to settle; 100 are enough.
WARMUP_RUNS = 100
# Blocks that are run and forgotten before those that count: caches and branch predictors of a fresh fork.
WARMUP_BLOCKS = 4
# A replicate of fewer pairs has no floor to speak of, however slow the statement is.
FEWEST_PAIRS = 6
# Sides whose times differ by more are not alike; two revisions of one statement seldom do.
LIKE_SIDES = 3.0
MOST_RUNS_PER_BLOCK = 2**31 - 1


@dataclasses.dataclass(frozen=True)
class Side:
    """A started environment and the fields of its `prepare` request."""

    server: ForkServer
    prepare: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Replicate:
    """Neighbouring blocks of both sides, seconds per run, and what they cost to take."""

    base_seconds_per_run: tuple[float, ...]
    branch_seconds_per_run: tuple[float, ...]
    runs_per_block: int  # of the base; the branch has as many unless it is not alike
    measuring_seconds: float
    whole_seconds: float


def take_replicate(
    base: Side, branch: Side, *, seconds: float, core: int | None, chance: random.Random, timeout_seconds: float = 120.0
) -> Replicate:
    """Fork both sides, warm them up, and alternate blocks for about `seconds`."""
    began = time.perf_counter()
    with contextlib.ExitStack() as stack:
        children = [stack.enter_context(side.server.child()) for side in (base, branch)]
        cpus = {} if core is None else {"cpus": [core]}
        for child, side in zip(children, (base, branch), strict=True):
            child.ask("prepare", timeout_seconds, warmup_runs=1, **{**side.prepare, **cpus})
        numbers = _runs_per_block(children, timeout_seconds)
        for _ in range(WARMUP_BLOCKS):
            for child, number in zip(children, numbers, strict=True):
                child.ask("time", timeout_seconds, number=number)
        pairs: list[tuple[float, float]] = []
        started = time.perf_counter()
        while len(pairs) < FEWEST_PAIRS or time.perf_counter() - started < seconds:
            block = [0.0, 0.0]
            for index in (0, 1) if chance.random() < 0.5 else (1, 0):
                answer = children[index].ask("time", timeout_seconds, number=numbers[index])
                block[index] = max(float(answer["seconds"]), 1e-9)
            pairs.append((block[0] / numbers[0], block[1] / numbers[1]))
        ended = time.perf_counter()
    return Replicate(
        tuple(a for a, _ in pairs), tuple(b for _, b in pairs), numbers[0], ended - started, time.perf_counter() - began
    )


def _runs_per_block(children: list[ChildProcess], timeout_seconds: float) -> list[int]:
    """How many runs fill a block; the same on both sides if they are alike, so that what surrounds them weighs alike.

    Sides that are not (a rung of overriding may take 50 times as long as the one below) have a number each: with one
    number, a block would be too short on one side to settle, or too long on the other to pass undisturbed.
    """

    def once() -> list[float]:
        return [float(child.ask("time", timeout_seconds, number=number)["seconds"]) for child in children]

    def undisturbed(first: list[float]) -> list[float]:
        """The best of three, where that costs nothing: one interruption must not make like sides look unlike."""
        tries = [first, once(), once()] if max(first) < 20 * BLOCK_SECONDS else [first]
        return [min(each) for each in zip(*tries, strict=True)]

    number = 1
    while True:
        seconds = once()
        if max(seconds) >= BLOCK_SECONDS / 4:
            seconds = undisturbed(seconds)
        if max(seconds) >= BLOCK_SECONDS / 4 or number >= MOST_RUNS_PER_BLOCK:
            break
        number *= 2
    # A few runs more settle the interpreter before the size is fixed.
    if number < WARMUP_RUNS and max(seconds) < BLOCK_SECONDS:
        for child in children:
            child.ask("time", timeout_seconds, number=WARMUP_RUNS)
        seconds = undisturbed(once())
    filling = [max(round(number * BLOCK_SECONDS / max(each, 1e-9)), 1) for each in seconds]
    return filling if max(filling) > LIKE_SIDES * min(filling) else [max(filling)] * len(filling)
