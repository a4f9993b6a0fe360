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

from photometer.instruments.fork_server import ChildProcess, ForkServer

# Long enough that reading the clock and the messages around a block (0.1 ms) do not show in it, short enough that the
# two blocks of a pair meet the same machine: interrupts come every few milliseconds.
BLOCK_SECONDS = 5e-4
# CPython's specialising interpreter needs some tens of runs to settle; 100 are enough.
WARMUP_RUNS = 100
# Blocks that are run and forgotten before those that count: caches and branch predictors of a fresh fork.
WARMUP_BLOCKS = 4
# A replicate of fewer pairs has no floor to speak of, however slow the statement is.
FEWEST_PAIRS = 6
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
    runs_per_block: int
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
        number = _runs_per_block(children, timeout_seconds)
        for _ in range(WARMUP_BLOCKS):
            for child in children:
                child.ask("time", timeout_seconds, number=number)
        pairs: list[tuple[float, float]] = []
        started = time.perf_counter()
        while len(pairs) < FEWEST_PAIRS or time.perf_counter() - started < seconds:
            block = [0.0, 0.0]
            for index in (0, 1) if chance.random() < 0.5 else (1, 0):
                answer = children[index].ask("time", timeout_seconds, number=number)
                block[index] = max(float(answer["seconds"]), 1e-9)
            pairs.append((block[0] / number, block[1] / number))
        ended = time.perf_counter()
    return Replicate(
        tuple(a for a, _ in pairs), tuple(b for _, b in pairs), number, ended - started, time.perf_counter() - began
    )


def _runs_per_block(children: list[ChildProcess], timeout_seconds: float) -> int:
    """How many runs fill a block; the same on both sides, so that what surrounds the runs weighs the same."""
    number, seconds = 1, 0.0
    while True:
        seconds = max(float(child.ask("time", timeout_seconds, number=number)["seconds"]) for child in children)
        if seconds >= BLOCK_SECONDS / 4 or number >= MOST_RUNS_PER_BLOCK:
            break
        number *= 2
    # A few runs more settle the interpreter before the size is fixed.
    if number < WARMUP_RUNS and seconds < BLOCK_SECONDS:
        for child in children:
            child.ask("time", timeout_seconds, number=WARMUP_RUNS)
        seconds = min(float(child.ask("time", timeout_seconds, number=number)["seconds"]) for child in children)
    return max(round(number * BLOCK_SECONDS / max(seconds, 1e-9)), 1)
