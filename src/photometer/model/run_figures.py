"""Figures of one run of a statement besides its time, each a record of a results file.

WorkOfRun: its FLOPs and bytes; MachinePeak: the machine's maximum of each per second. ProcessorCounts: its instructions
as the processor itself counted them. EnergyOfRun: what it takes from a GPU's supply. ObservedMetrics and PhaseTimes:
what was read from its variables, the author's own metrics and the seconds of the phases of a step. RankTimes: how long
each process of a group took for the same blocks, and how fast a collective was on the bus.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from photometer.errors import MeasurementError
from photometer.model.records import NotNegative, Positive
from photometer.model.task import TaskSpec
from photometer.model.units import percent
from photometer.model.visible_text import visible
from photometer.stats.summary import median, quantile


@dataclass(frozen=True)
class ProcessorCounts:
    """Instructions in user mode of each repeat of `number_per_run` runs, and of as many runs of nothing."""

    KIND: ClassVar[str] = "processor_counts"

    task_spec: TaskSpec
    number_per_run: Positive
    instructions: tuple[int, ...]
    loop_instructions: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.instructions or not self.loop_instructions:
            raise MeasurementError("processor counts need at least one repeat")

    @property
    def instructions_per_run(self) -> float:
        """The difference of the medians, divided by the runs."""
        own = statistics.median(self.instructions) - statistics.median(self.loop_instructions)
        return own / self.number_per_run

    @property
    def spread(self) -> float:
        """Largest less smallest repeat, as a share of the median."""
        return (max(self.instructions) - min(self.instructions)) / (statistics.median(self.instructions) or 1)

    def __repr__(self) -> str:
        return f"<photometer.ProcessorCounts {self.instructions_per_run:,.1f} per run, spread {percent(self.spread)}>"

    def __str__(self) -> str:
        repeats = f"{len(self.instructions)} repeats of {self.number_per_run} runs"
        return (
            f"{visible(self.task_spec.summarize())}\n"
            f"  {self.instructions_per_run:>14,.1f} instructions per run, counted by the processor\n"
            f"  {repeats}, spread {percent(self.spread)}"
        )


@dataclasses.dataclass(frozen=True)
class WorkOfRun:
    """The work of a run. `flops_given` and `bytes_given` say that the author gave the number; otherwise it was counted.

    Counted bytes are those of the inputs and outputs: what a run must move if nothing is read twice.
    """

    KIND: ClassVar[str] = "work"

    task_spec: TaskSpec
    flops: NotNegative | None = None
    bytes: NotNegative | None = None
    flops_given: bool = False
    bytes_given: bool = False
    # The type that most of the FLOPs are done in: float32.
    dtype: str = ""


@dataclasses.dataclass(frozen=True)
class MachinePeak:
    """The speed of a matrix product and a copy on this machine, with a number of threads or on an accelerator."""

    KIND: ClassVar[str] = "machine_peak"

    device: str
    num_threads: Positive
    dtype: str
    flops_per_second: NotNegative
    bytes_per_second: NotNegative
    # What was measured: the processor or the card, the version of torch, and when.
    machine: str = ""
    torch: str = ""
    date: str = ""


@dataclasses.dataclass(frozen=True)
class EnergyOfRun:
    """The energy of a run, which includes the idle part: the card draws that while it works, too.

    `resolution_joules` is the uncertainty from the counter's step size; `idle_watts` was drawn without work.
    """

    KIND: ClassVar[str] = "energy"

    task_spec: TaskSpec
    joules_per_run: NotNegative
    resolution_joules: NotNegative
    watts: NotNegative
    idle_watts: NotNegative
    runs: Positive
    seconds: NotNegative


@dataclasses.dataclass(frozen=True)
class MetricValues:
    """The values of one metric, one per run."""

    name: str
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise MeasurementError("a metric needs the value of at least one run")

    @property
    def median(self) -> float:
        return quantile(sorted(self.values), 0.5)


@dataclasses.dataclass(frozen=True)
class ObservedMetrics:
    """Numbers that a statement left in the variables that `metrics=` names."""

    KIND: ClassVar[str] = "metrics"

    task_spec: TaskSpec
    metrics: tuple[MetricValues, ...]


@dataclasses.dataclass(frozen=True)
class PhaseSeconds:
    """The seconds of one phase, one per run."""

    name: str
    seconds: tuple[NotNegative, ...]

    def __post_init__(self) -> None:
        if not self.seconds:
            raise MeasurementError("a phase needs the seconds of at least one run")

    @property
    def median(self) -> float:
        return quantile(sorted(self.seconds), 0.5)


@dataclasses.dataclass(frozen=True)
class PhaseTimes:
    """The phases of a step, in their order. A clock is read between them, and an accelerator is waited for."""

    KIND: ClassVar[str] = "phases"

    task_spec: TaskSpec
    phases: tuple[PhaseSeconds, ...]


# What share of the message crosses the slowest link, per rank: the factors that NCCL's own tests use. `bytes` is the
# message of one rank; of all_gather, what each has in the end, and of reduce_scatter and all_to_all at the beginning.
BUS_FACTORS: Mapping[str, Callable[[int], float]] = {
    "all_reduce": lambda ranks: 2 * (ranks - 1) / ranks,
    "all_gather": lambda ranks: (ranks - 1) / ranks,
    "reduce_scatter": lambda ranks: (ranks - 1) / ranks,
    "all_to_all": lambda ranks: (ranks - 1) / ranks,
    "broadcast": lambda ranks: 1.0,
    "reduce": lambda ranks: 1.0,
    "send_recv": lambda ranks: 1.0,
}


@dataclasses.dataclass(frozen=True)
class RankTimes:
    """Seconds per run of each block in each rank: blocks begin together, and the k-th of all ranks are the same."""

    KIND: ClassVar[str] = "rank_times"

    task_spec: TaskSpec
    seconds: tuple[tuple[NotNegative, ...], ...]
    runs_per_block: int = 1
    # Of a collective: which one, and the bytes of its message.
    collective: str = ""
    bytes: NotNegative | None = None

    def __post_init__(self) -> None:
        if not self.seconds or not all(len(blocks) == len(self.seconds[0]) > 0 for blocks in self.seconds):
            raise MeasurementError("the ranks do not have the same number of blocks, or none")

    @property
    def ranks(self) -> int:
        """How many processes the group has."""
        return len(self.seconds)

    @property
    def by_rank(self) -> tuple[float, ...]:
        """The median of each rank's blocks."""
        return tuple(median(blocks) for blocks in self.seconds)

    @property
    def slowest_of_each_block(self) -> tuple[float, ...]:
        """The time of each block: that of its slowest rank."""
        return tuple(max(block) for block in zip(*self.seconds, strict=True))

    @property
    def slowest(self) -> float:
        """The median over the blocks of the slowest rank's time: how long the group takes."""
        return median(self.slowest_of_each_block)

    @property
    def spread(self) -> float:
        """By how much the slowest rank is slower than the fastest, block by block, as a share of the fastest."""
        ratios = [max(block) / min(block) - 1 for block in zip(*self.seconds, strict=True) if min(block) > 0]
        return median(ratios) if ratios else 0.0

    @property
    def latest_rank(self) -> int:
        """The rank whose median is the largest."""
        return max(range(self.ranks), key=self.by_rank.__getitem__)

    @property
    def bytes_per_second(self) -> float | None:
        """Bytes of the message over the time of the slowest rank; None if no message is known."""
        return self.bytes / self.slowest if self.bytes is not None and self.slowest > 0 else None

    @property
    def bus_bytes_per_second(self) -> float | None:
        """What crosses the slowest link per second: it can be compared with the hardware, whatever the ranks."""
        rate, factor = self.bytes_per_second, BUS_FACTORS.get(self.collective)
        # A group of one has no bus.
        return None if rate is None or factor is None or self.ranks == 1 else rate * factor(self.ranks)
