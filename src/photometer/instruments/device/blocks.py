"""How many runs make a block, how many blocks make a measurement, the loop that takes them, and which are kept.

In: a sampler, a statement's pace, a stopping rule. Out: samples. Blocks in which the device was throttled are set
aside, because their times show the power supply or the cooling. If most blocks were throttled (a large matrix product
runs at the power cap all the time), all are kept, and the measurement says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from photometer.instruments.clock import Clock
from photometer.instruments.device.sampler import BlockRequest, BlockSample, EventSampler, Sampler
from photometer.instruments.stopping import StoppingRule
from photometer.worker.device_blocks import ATTEMPTS, LONGER_HOLD

# Blocks that a mode's time is divided into: enough for an interval from batches.
BLOCKS_AIMED_AT = 25
# Fewer blocks than this are not a measurement, unless they took PATIENCE times as long as requested.
FEWEST_BLOCKS = 5
PATIENCE = 5.0
# A launch costs the host at least 2 us and the device's queue holds about 1,000 (1,022 on an H200): what the host can
# queue in this time always fits. When the queue is full, launching waits for the device.
QUEUE_SECONDS = 1.8e-3
# Runs whose flushes (75 us each on an H200) and kernels one cold block holds.
MOST_COLD_RUNS = 10
# Runs per session of the profiler: its buffers hold more, but reading them takes time.
MOST_PROFILED_RUNS = 100
PROFILED_BLOCKS_PER_SESSION = 10
# If the device is kept busy, this many blocks follow each other without a pause.
FLOWING_BLOCKS = 10
# The device is the slower side if it takes this many times as long as the host: its work then hides the launches.
DEVICE_SLOWER = 1.2


@dataclass(frozen=True)
class Pace:
    """A rough estimate of a statement's speed, by which the sizes of blocks are chosen."""

    host_seconds_per_run: float
    end_to_end_seconds: float

    def hot_runs(self, block_seconds: float) -> int:
        by_queue = QUEUE_SECONDS / max(self.host_seconds_per_run, 1e-9)
        by_time = block_seconds / max(self.end_to_end_seconds - self.host_seconds_per_run, 1e-6)
        return max(1, int(min(by_queue, by_time)))

    def cold_runs(self, block_seconds: float) -> int:
        return max(1, min(MOST_COLD_RUNS, self.hot_runs(block_seconds)))


@dataclass(frozen=True)
class KeptBlocks:
    """The blocks that count. `always`: most blocks were throttled for these reasons, so none were set aside."""

    samples: tuple[BlockSample, ...]
    set_aside: int
    reasons: tuple[str, ...]
    always: bool


@dataclass(frozen=True)
class Collected:
    """The blocks that `collect` took, and how."""

    blocks: KeptBlocks
    runs_per_block: int
    launch_hidden: bool

    @property
    def seconds_per_run(self) -> tuple[float, ...]:
        return tuple(sample.seconds_per_run for sample in self.blocks.samples)


def hide_launch(sampler: EventSampler, request: BlockRequest) -> BlockRequest:
    """Lengthen the hold until a whole block can be queued during it; then see which side is slower."""
    for _ in range(ATTEMPTS):
        (sample,) = sampler.sample([request])
        if sample.launch_hidden:
            # Only now is the sample known to be the device's own time, which can be compared with the host's.
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
    """Take blocks until the rule says to stop. If most blocks hide their launch, the others are left out."""
    samples: list[BlockSample] = []
    if request.device_slower:
        # The clock settles under load within 0.1 s: earlier blocks would still show the pause before them.
        sampler.sample([request] * blocks_at_a_time)
    start = clock()
    while True:
        samples += sampler.sample([request] * blocks_at_a_time)
        hidden = [sample for sample in samples if sample.launch_hidden]
        # If the launch shows in most blocks it cannot be hidden, and the result says so.
        most_hidden = 2 * len(hidden) > len(samples)
        blocks = keep_blocks(hidden if most_hidden else samples)
        spent = clock() - start
        if len(blocks.samples) < FEWEST_BLOCKS and spent < PATIENCE * patience_seconds:
            continue
        if rule.reason_to_stop([sample.seconds_per_run for sample in blocks.samples], spent) is not None:
            return Collected(blocks, request.runs, most_hidden)


def keep_blocks(samples: Sequence[BlockSample]) -> KeptBlocks:
    """Set throttled blocks aside, unless they are at least half."""
    throttled = [sample for sample in samples if sample.clocks is not None and sample.clocks.throttled]
    reasons = tuple(sorted({reason for s in throttled if s.clocks is not None for reason in s.clocks.throttle_reasons}))
    if 2 * len(throttled) >= len(samples):
        return KeptBlocks(tuple(samples), 0, reasons, always=bool(throttled))
    kept = tuple(sample for sample in samples if sample.clocks is None or not sample.clocks.throttled)
    return KeptBlocks(kept, len(throttled), reasons, always=False)
