"""How many runs make a block, how many blocks make a measurement: sizes and the loop that takes them.

In: a sampler, a statement's pace, a stopping rule. Out: samples, throttled ones set aside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from photometer.instruments.clock import Clock
from photometer.instruments.device.sampler import BlockRequest, BlockSample, EventSampler, Sampler
from photometer.instruments.device.throttling import Sieved, sieve
from photometer.instruments.stopping import StoppingRule
from photometer.worker.device_blocks import ATTEMPTS, LONGER_HOLD

# Blocks that a mode's time is shared out to: enough for an interval from batches.
BLOCKS_AIMED_AT = 25
# Fewer blocks than this are no measurement, unless they have taken far longer than was asked for.
FEWEST_BLOCKS = 5
PATIENCE = 5.0
# A launch costs the host at least 2 us and the device's queue holds about 1,000 (1,022 on an H200): what the host can
# queue in this time always fits. When the queue is full, launching waits for the device.
QUEUE_SECONDS = 1.8e-3
# Runs whose flushes (75 us each on an H200) and kernels one cold block holds.
MOST_COLD_RUNS = 10
# Records that one session of the profiler is allowed, by runs: its buffers hold more, but reading them takes time.
MOST_PROFILED_RUNS = 100
PROFILED_BLOCKS_A_SESSION = 10
# Where the device is kept busy, so many blocks follow each other without a pause.
FLOWING_BLOCKS = 10
# The device is the slower side when it takes this much longer than the host: then launches hide behind its work.
DEVICE_SLOWER = 1.2


@dataclass(frozen=True)
class Pace:
    """How fast a statement goes, roughly: what sizes are chosen by."""

    host_seconds_per_run: float
    end_to_end_seconds: float

    def hot_runs(self, block_seconds: float) -> int:
        by_queue = QUEUE_SECONDS / max(self.host_seconds_per_run, 1e-9)
        by_time = block_seconds / max(self.end_to_end_seconds - self.host_seconds_per_run, 1e-6)
        return max(1, int(min(by_queue, by_time)))

    def cold_runs(self, block_seconds: float) -> int:
        return max(1, min(MOST_COLD_RUNS, self.hot_runs(block_seconds)))


@dataclass(frozen=True)
class Collected:
    sieved: Sieved
    runs_per_block: int
    launch_hidden: bool

    @property
    def seconds_per_run(self) -> tuple[float, ...]:
        return tuple(sample.seconds_per_run for sample in self.sieved.kept)


def hide_launch(sampler: EventSampler, request: BlockRequest) -> BlockRequest:
    """Try blocks until the hold is long enough to queue one whole; then see which side is the slower one."""
    for _ in range(ATTEMPTS):
        (sample,) = sampler.sample([request])
        if sample.launch_hidden:
            # Only now is it known to be the device's own time that is compared with the host's.
            slower = sample.seconds_per_run > DEVICE_SLOWER * request.host_seconds_per_run
            return replace(request, device_slower=slower)
        request = replace(request, host_seconds_per_run=request.host_seconds_per_run * LONGER_HOLD)
    return request


def collect(
    sampler: Sampler,
    request: BlockRequest,
    rule: StoppingRule,
    *,
    clock: Clock,
    patience_seconds: float,
    blocks_at_a_time: int = 1,
) -> Collected:
    """Blocks until the rule is content. A block whose launch showed is taken again where others are hidden."""
    samples: list[BlockSample] = []
    if request.device_slower:
        # The clock settles under load within 0.1 s: what comes before tells of the pause.
        sampler.sample([request] * blocks_at_a_time)
    start = clock()
    while True:
        samples += sampler.sample([request] * blocks_at_a_time)
        hidden = [sample for sample in samples if sample.launch_hidden]
        # Where the launch shows in most blocks it cannot be hidden, and the result says so.
        most_hidden = 2 * len(hidden) > len(samples)
        sieved = sieve(hidden if most_hidden else samples)
        spent = clock() - start
        if len(sieved.kept) < FEWEST_BLOCKS and spent < PATIENCE * patience_seconds:
            continue
        if rule.reason_to_stop([sample.seconds_per_run for sample in sieved.kept], spent) is not None:
            return Collected(sieved, request.runs, most_hidden)
