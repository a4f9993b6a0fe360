"""Replicates of two statements on one device: alternating blocks in random order, so that clock and heat affect both.

In: two prepared statements. Out: a ReplicateEstimate per call; the caller judges and decides when to stop. A replicate
is a group of neighbouring pairs of blocks, by events or by the profiler, hot or cold. Blocks are queued as a group,
because one session of the profiler covers them all; so instruments/replicate.py cannot be used here.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from photometer.instruments.clock import Clock
from photometer.instruments.device.accelerator import Accelerator, RunBlock
from photometer.instruments.device.blocks import MOST_COLD_RUNS, MOST_PROFILED_RUNS, hide_launch
from photometer.instruments.device.device_times import SHORT_KERNEL_SECONDS
from photometer.instruments.device.host_side import find_pace, synchronises
from photometer.instruments.device.options import SourceChoice
from photometer.instruments.device.sampler import BlockRequest, BlockSample, EventSampler, ProfilerSampler, Sampler
from photometer.instruments.wall_time import warm_up
from photometer.model.device_mode import Source
from photometer.stats.replicate import MINIMUM_BLOCKS, ReplicateEstimate, estimate_replicate

# Pairs of blocks per replicate: floors are the 5 % to 15 % quantiles, which need more than ten.
PAIRS_PER_REPLICATE = 12
# Device time of one block; with the hold before it a replicate of 24 takes about 0.1 s.
DEVICE_BLOCK_SECONDS = 2e-3
WARM_UP_SECONDS = 0.1


@dataclass(frozen=True)
class DeviceReplicate:
    estimate: ReplicateEstimate
    pairs_set_aside: int
    throttled_throughout: bool


class AlternatingPair:
    """Two statements, warm and with their sizes chosen. `source` says where the times come from."""

    def __init__(
        self,
        accelerator: Accelerator,
        run_a: RunBlock,
        run_b: RunBlock,
        *,
        cold: bool,
        source: SourceChoice,
        order: random.Random,
        clock: Clock,
    ) -> None:
        self._order = order
        hot = [_prepare(accelerator, run, clock) for run in (run_a, run_b)]
        self._sampler = _choose_sampler(accelerator, hot, source, clock)
        self._requests = [_final(request, cold) for request in hot]
        # Not kept: the profiler attaches here if needed (seconds, once per process), and the clock settles under load.
        self.replicate()

    @property
    def source(self) -> Source:
        return self._sampler.source

    def replicate(self) -> DeviceReplicate:
        """Take one group of pairs. Which side comes first in a pair is random."""
        orders = [self._order.sample((0, 1), 2) for _ in range(PAIRS_PER_REPLICATE)]
        samples = self._sampler.sample([self._requests[side] for pair in orders for side in pair])
        pairs = []
        for i, (first, _) in enumerate(orders):
            one, other = samples[2 * i : 2 * i + 2]
            pairs.append((one, other) if first == 0 else (other, one))
        kept, throughout = sieve_pairs(pairs)
        estimate = estimate_replicate([a.seconds_per_run for a, _ in kept], [b.seconds_per_run for _, b in kept])
        return DeviceReplicate(estimate, len(pairs) - len(kept), throughout)


def sieve_pairs(
    pairs: Sequence[tuple[BlockSample, BlockSample]],
) -> tuple[list[tuple[BlockSample, BlockSample]], bool]:
    """Return the pairs in which the device was not held back, and whether it was in most: then all pairs are kept."""
    free = [pair for pair in pairs if not any(s.clocks is not None and s.clocks.throttled for s in pair)]
    enough = len(free) >= MINIMUM_BLOCKS and 2 * len(free) > len(pairs)
    return (free, False) if enough else (list(pairs), len(free) < len(pairs))


def _prepare(accelerator: Accelerator, run: RunBlock, clock: Clock) -> BlockRequest:
    def finished_block(runs: int) -> float:
        start = clock()
        run(runs)
        accelerator.queue.synchronize()
        return clock() - start

    warm_up(finished_block, budget_seconds=WARM_UP_SECONDS)
    pace = find_pace(accelerator, run, clock)
    request = BlockRequest(run, pace.hot_runs(DEVICE_BLOCK_SECONDS), pace.host_seconds_per_run)
    return hide_launch(EventSampler(accelerator), request)


def _choose_sampler(
    accelerator: Accelerator, requests: Sequence[BlockRequest], source: SourceChoice, clock: Clock
) -> Sampler:
    events = EventSampler(accelerator)
    if source == "events" or accelerator.profiler is None:
        return events
    profiler = ProfilerSampler(accelerator)
    if source == "profiler":
        return profiler
    pilots = events.sample(requests)
    for request, pilot in zip(requests, pilots, strict=True):
        pace = find_pace(accelerator, request.run, clock)
        if pilot.seconds_per_run < SHORT_KERNEL_SECONDS or synchronises(accelerator, request.run, pace):
            return profiler
    return events


def _final(request: BlockRequest, cold: bool) -> BlockRequest:
    return replace(request, runs=min(request.runs, MOST_COLD_RUNS if cold else MOST_PROFILED_RUNS), cold=cold)
