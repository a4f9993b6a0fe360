"""Contest: the sides of one benchmark, and their replicates in fresh forks of the sides' servers.

In: sides, the first of which is the one that the others are compared with. Out: Replicates, one at a time, for a loop
that judges (comparing/fork_sampler.py); or PairedTimes: two sides, measured until their ratio is precise enough.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import random
from collections.abc import Callable, Sequence
from statistics import median

from photometer.errors import WorkerError
from photometer.instruments.declaration import Asked
from photometer.instruments.ready_order import ReadyOrder, preparation_of
from photometer.instruments.replicate import (
    DEVICE_REPLICATE_SECONDS,
    REPLICATE_SECONDS,
    Forks,
    Replicate,
    Side,
    take_replicate,
)
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS
from photometer.session.cores import quietest_core
from photometer.session.layout import Layout
from photometer.session.session import ServerKind, Session, compiling

# A replicate is measured for at least this share of what it takes to prepare it: a side that loads a compiled function
# takes seconds to prepare, and with the usual 0.15 s nearly all the time would go there.
SHARE_OF_PREPARING = 1 / 3
# Longer than this, a replicate says little more about its two processes.
MOST_REPLICATE_SECONDS = 2.0


@dataclasses.dataclass(frozen=True)
class Contestants:
    """The sides of one benchmark; the others are compared with the first."""

    sides: tuple[Side, ...]
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS

    @property
    def of_one_session(self) -> bool:
        return len({id(side.session) for side in self.sides}) == 1

    @property
    def processors(self) -> int:
        return max(side.processors for side in self.sides)

    @property
    def compiles(self) -> bool:
        return any(side.prepare.compile_cache for side in self.sides)

    @property
    def device(self) -> str:
        return self.sides[0].prepare.device

    @property
    def on_device(self) -> bool:
        return any(side.prepare.device_time for side in self.sides)


class Contest:
    """`core` is where statements with one thread run; `order` draws layouts, data and whose turn it is."""

    def __init__(
        self, contestants: Contestants, *, core: int | None, order: random.Random, layout: Layout | None = None
    ) -> None:
        self.contestants = contestants
        self._core = core
        self._order = order
        self._layout = layout or Layout()
        self._sizes: tuple[int, ...] = ()
        self._preparing_seconds = 0.0
        # Until blocks on the device turn out not to be graphs.
        self._is_captured = contestants.on_device

    def worthwhile_seconds(self, usual_seconds: float) -> float:
        """Return how long to measure a replicate: longer than usual if preparing the last one took long."""
        return max(usual_seconds, min(self._preparing_seconds * SHARE_OF_PREPARING, MOST_REPLICATE_SECONDS))

    def take(self, *, lane: int = 0, seconds: float = REPLICATE_SECONDS) -> Replicate:
        """Take one replicate; on a device, of the length that is usual there."""
        take = functools.partial(
            take_replicate,
            kind=self._kind(lane),
            core=self._core,
            order=self._order,
            seconds=DEVICE_REPLICATE_SECONDS if self.contestants.on_device else seconds,
            timeout_seconds=self.contestants.timeout_seconds,
            runs_per_block=self._sizes,
        )
        replicate = self._take_captured(take) or take(self.contestants.sides)
        self._sizes = replicate.sizes_to_use_again()
        self._preparing_seconds = replicate.whole_seconds - replicate.measuring_seconds
        return replicate

    def _take_captured(self, take: Callable[[Sequence[Side]], Replicate]) -> Replicate | None:
        """Take a replicate whose blocks are graphs; None if a side's statement cannot be captured: then none are."""
        if self._is_captured:
            try:
                return take(
                    [
                        dataclasses.replace(side, prepare=dataclasses.replace(side.prepare, by_graph=True))
                        for side in self.contestants.sides
                    ]
                )
            except WorkerError:
                # Any other problem shows again without graphs.
                self._is_captured = False
        return None

    def start_ahead(self, lane: int) -> None:
        """Start the servers of all sides at once. With several threads, each starts later, on its own cores."""
        if self.contestants.processors > 1:
            return
        kind = self._kind(lane)
        wanted: dict[int, tuple[Forks, list[ServerKind]]] = {}
        for side in self.contestants.sides:
            wanted.setdefault(id(side.session), (side.session, []))[1].append(kind.importing(side.prepare))
        for session, kinds in wanted.values():
            session.start_ahead(kinds)

    def _kind(self, lane: int) -> ServerKind:
        kind = compiling(self.contestants.device) if self.contestants.compiles else ServerKind()
        return dataclasses.replace(kind, layout=self._layout, lane=lane, spins=self.contestants.processors > 1)


@dataclasses.dataclass(frozen=True)
class PairedTimes:
    """Seconds per run of the base, and the other side's time over it, with the interval of that ratio."""

    base_seconds: float
    ratio: float
    interval: tuple[float, float]
    replicates: int

    @property
    def seconds(self) -> float:
        return self.base_seconds * self.ratio

    @property
    def added_seconds(self) -> float:
        return self.base_seconds * (self.ratio - 1.0)

    @property
    def added_interval_seconds(self) -> tuple[float, float]:
        low, high = self.interval
        return (self.base_seconds * (low - 1.0), self.base_seconds * (high - 1.0))

    def is_within(self, precision: float) -> bool:
        """Return whether the ratio is known to this, relative to itself."""
        low, high = self.interval
        return (high - low) / 2.0 <= precision * self.ratio


def time_against(
    session: Session, asked: Asked, *, precision: float, most_replicates: int, seconds: float
) -> PairedTimes:
    """Time an order and the one that it is measured against until their ratio is known to `precision`, or long enough.

    Both are known to differ: the question is by how much, so that a narrow interval ends it, and no verdict is called.
    """
    # They import numpy, which a command that only lists its options does without.
    from photometer.stats.replicate import FEWEST_REPLICATES, estimate_replicate, hodges_lehmann, replicate_interval

    (base,) = asked.against
    sides = tuple(_side(session, ready, asked.cores) for ready in (base, asked.ready))
    contestants = Contestants(sides, max(base.order.timeout_seconds, asked.order.timeout_seconds))
    core = asked.cores[0] if asked.cores else quietest_core()
    contest = Contest(contestants, core=core, order=random.Random())
    log_ratios: list[float] = []
    base_seconds: list[float] = []
    while True:
        estimate = estimate_replicate(*contest.take(seconds=contest.worthwhile_seconds(seconds)).seconds_per_run)
        log_ratios.append(estimate.log_ratio)
        base_seconds.append(estimate.seconds_per_run_a)
        low, high = replicate_interval(log_ratios)
        times = PairedTimes(
            median(base_seconds),
            math.exp(hodges_lehmann(log_ratios)),
            (math.exp(low), math.exp(high)),
            len(log_ratios),
        )
        is_known = times.replicates >= FEWEST_REPLICATES and times.is_within(precision)
        if is_known or times.replicates >= most_replicates:
            return times


def _side(session: Session, ready: ReadyOrder, cores: Sequence[int]) -> Side:
    return Side(session, preparation_of(session, ready, cores, device_time=True))
