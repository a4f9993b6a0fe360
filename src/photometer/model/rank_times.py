"""RankTimes: how long each process of a group took for the same blocks, and how fast a collective was on the bus."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import ClassVar

from photometer.errors import MeasurementError
from photometer.model.records import NotNegative
from photometer.model.task import TaskSpec
from photometer.stats.summary import median

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
