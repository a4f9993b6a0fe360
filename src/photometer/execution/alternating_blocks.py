"""Blocks of several statements in turn, so that what slows the machine for a moment slows all of them alike.

In come functions that time a block of n runs; out come seconds per run, a list for each, whose i-th blocks were
neighbours in time. A fake clock drives it in the tests.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from photometer.instruments.clock import Clock, clock_resolution_seconds
from photometer.instruments.wall_time import TimeBlock, runs_per_block, warm_up
from photometer.stats.replicate import MINIMUM_BLOCKS
from photometer.stats.summary import median

# Rounds that the time is shared out to: enough for quantiles, few enough that a block is long beside the clock.
ROUNDS_AIMED_AT = 20
# Warming up may take this share of the time to measure.
WARM_UP_SHARE = 0.25


def alternate(
    time_blocks: Sequence[TimeBlock], *, budget_seconds: float, clock: Clock, order: random.Random
) -> list[list[float]]:
    """Measure for about `budget_seconds` in all, and for at least as many rounds as a comparison needs."""
    share = budget_seconds / len(time_blocks)
    resolution = clock_resolution_seconds(clock)
    numbers = []
    for time_block in time_blocks:
        warm = warm_up(time_block, budget_seconds=share * WARM_UP_SHARE)
        clock_cost = median([max(time_block(0), 0.0) for _ in range(5)])
        numbers.append(runs_per_block(warm.seconds_per_run, share / ROUNDS_AIMED_AT, clock_cost, resolution))
    seconds_per_run: list[list[float]] = [[] for _ in time_blocks]
    spent, rounds = 0.0, 0
    places = list(range(len(time_blocks)))
    while spent < budget_seconds or rounds < MINIMUM_BLOCKS:
        order.shuffle(places)
        for place in places:
            block = max(time_blocks[place](numbers[place]), 1e-9)
            seconds_per_run[place].append(block / numbers[place])
            spent += block
        rounds += 1
    return seconds_per_run
