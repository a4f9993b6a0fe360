"""Device time, hot and cold: by events, or by the profiler if that is better; the result names its source."""

from __future__ import annotations

from dataclasses import dataclass, replace

from photometer.errors import MeasurementError
from photometer.instruments.clock import Clock
from photometer.instruments.device.accelerator import Accelerator, RunBlock
from photometer.instruments.device.blocks import (
    BLOCKS_AIMED_AT,
    FLOWING_BLOCKS,
    MOST_PROFILED_RUNS,
    PROFILED_BLOCKS_PER_SESSION,
    Collected,
    KeptBlocks,
    Pace,
    collect,
    hide_launch,
)
from photometer.instruments.device.options import DeviceOptions
from photometer.instruments.device.sampler import (
    BlockRequest,
    EventSampler,
    ProfilerSampler,
    Sampler,
    kernel_table,
)
from photometer.instruments.stopping import RunFor, StoppingRule
from photometer.model.device_measurement import CrossCheck, DeviceMode, KernelTime, ModeName, Source
from photometer.stats.summary import median
from photometer.worker.device_blocks import SHORTEST_KERNEL_SECONDS

# After each kernel the device pauses for 1.0 to 1.3 us (H200), which events include and kernel times do not: one per
# cent of a kernel of this length.
SHORT_KERNEL_SECONDS = 100e-6
NO_WORK = "the statement runs nothing on the device"


@dataclass(frozen=True)
class KernelFacts:
    """The profiler's facts besides times."""

    kernels: tuple[KernelTime, ...]
    streams: int

    @property
    def work_items_per_run(self) -> float:
        return sum(kernel.calls_per_run for kernel in self.kernels)


@dataclass(frozen=True)
class DeviceTimes:
    """The hot and cold modes, and other facts from measuring them."""

    hot: DeviceMode
    cold: DeviceMode
    facts: KernelFacts | None
    launch_hidden: bool
    blocks: tuple[KeptBlocks, ...]
    profiler_failure: str | None = None

    @property
    def has_device_work(self) -> bool:
        if self.facts is not None:
            return bool(self.facts.kernels)
        return self.hot.measured and self.hot.median > SHORTEST_KERNEL_SECONDS


class DeviceTimer:
    """Takes the device's times of one statement. Events come first: a profiler, once attached, slows every launch."""

    def __init__(
        self, accelerator: Accelerator, run: RunBlock, pace: Pace, options: DeviceOptions, *, clock: Clock
    ) -> None:
        self._accelerator, self._options, self._clock = accelerator, options, clock
        self._events = EventSampler(accelerator)
        block_seconds = options.min_run_time / BLOCKS_AIMED_AT
        self._hot = BlockRequest(run, pace.hot_runs(block_seconds), pace.host_seconds_per_run)
        self._cold = BlockRequest(run, pace.cold_runs(block_seconds), pace.host_seconds_per_run, cold=True)

    def by_events(self) -> tuple[Collected, Collected]:
        """Take hot and cold blocks."""
        self._hot = hide_launch(self._events, self._hot)
        self._cold = replace(
            self._cold,
            host_seconds_per_run=self._hot.host_seconds_per_run,
            device_slower=self._hot.device_slower,
        )
        return self._collect(self._events, self._hot), self._collect(self._events, self._cold)

    def replays(self, run: RunBlock, host_seconds_per_run: float) -> Collected:
        """Time a captured graph's replays, hot, by events: a replay has its own gaps, which are part of its time."""
        runs = max(1, min(self._hot.runs, int(self._options.min_run_time / BLOCKS_AIMED_AT / host_seconds_per_run)))
        request = hide_launch(self._events, BlockRequest(run, runs, host_seconds_per_run))
        return self._collect(self._events, request)

    def with_profiler(self, hot: Collected, cold: Collected, *, synchronises: bool) -> DeviceTimes:
        """Return the final times: by the profiler, or by events if kernels are long or there is no profiler."""
        hidden = hot.launch_hidden and cold.launch_hidden
        if self._accelerator.profiler is None or self._options.source == "events":
            return self._by_events_alone(hot, cold, hidden, None)
        sampler = ProfilerSampler(self._accelerator)
        try:
            facts = self._facts(sampler)
            if not facts.kernels:
                hot_mode, cold_mode = (
                    DeviceMode(name, absent_because=NO_WORK) for name in (ModeName.DEVICE_HOT, ModeName.DEVICE_COLD)
                )
                return DeviceTimes(hot_mode, cold_mode, facts, hidden, ())
            event_seconds = median(hot.seconds_per_run)
            short = event_seconds < SHORT_KERNEL_SECONDS * max(facts.work_items_per_run, 1.0)
            better = short or synchronises or facts.streams > 1 or not hidden
            use_profiler = self._options.source == "profiler" or better
            rule: StoppingRule = self._options.stopping_rule() if use_profiler else RunFor(0.0)
            hot_kernels = self._collect(sampler, self._profiled(self._hot), rule)
            cold_kernels = self._collect(sampler, self._profiled(self._cold), rule)
        except (MeasurementError, RuntimeError) as error:
            if self._options.source == "profiler":
                raise
            return self._by_events_alone(hot, cold, hidden, str(error).split("\n")[0])
        pairs = ((ModeName.DEVICE_HOT, hot, hot_kernels), (ModeName.DEVICE_COLD, cold, cold_kernels))
        if use_profiler:
            modes = [device_mode(name, mine, Source.PROFILER, other, Source.EVENTS) for name, other, mine in pairs]
            used = (hot_kernels, cold_kernels)
        else:
            modes = [device_mode(name, mine, Source.EVENTS, other, Source.PROFILER) for name, mine, other in pairs]
            used = (hot, cold)
        return DeviceTimes(modes[0], modes[1], facts, hidden, tuple(part.blocks for part in used))

    def _by_events_alone(self, hot: Collected, cold: Collected, hidden: bool, failure: str | None) -> DeviceTimes:
        return DeviceTimes(
            device_mode(ModeName.DEVICE_HOT, hot, Source.EVENTS),
            device_mode(ModeName.DEVICE_COLD, cold, Source.EVENTS),
            None,
            hidden,
            (hot.blocks, cold.blocks),
            failure,
        )

    def _facts(self, sampler: ProfilerSampler) -> KernelFacts:
        """Find which kernels run, and on how many streams, in one short session."""
        request = self._profiled(self._hot)
        sampler.sample([request])
        (records,) = sampler.last_records
        return KernelFacts(kernel_table(records, request.runs), len({record.stream for record in records}))

    def _profiled(self, request: BlockRequest) -> BlockRequest:
        return replace(request, runs=min(request.runs, MOST_PROFILED_RUNS))

    def _collect(self, sampler: Sampler, request: BlockRequest, rule: StoppingRule | None = None) -> Collected:
        return collect(
            sampler,
            request,
            rule or self._options.stopping_rule(),
            clock=self._clock,
            patience_seconds=self._options.min_run_time,
            blocks_at_a_time=_batch(sampler, request),
        )


def _batch(sampler: Sampler, request: BlockRequest) -> int:
    if sampler.source is Source.PROFILER:
        return PROFILED_BLOCKS_PER_SESSION
    return FLOWING_BLOCKS if request.device_slower else 1


def device_mode(
    name: ModeName, collected: Collected, source: Source, other: Collected | None = None, also: Source | None = None
) -> DeviceMode:
    check = None
    if other is not None and also is not None:
        check = CrossCheck(also, median(other.seconds_per_run))
    kept = collected.blocks.samples
    return DeviceMode(
        name,
        collected.seconds_per_run,
        collected.runs_per_block,
        source,
        blocks_set_aside=collected.blocks.set_aside,
        clocks=tuple(sample.clocks for sample in kept if sample.clocks is not None),
        cross_check=check,
    )
