"""Cold caches on the CPU: the time of a run whose data are not in the processor's caches, beside that of a warm one.

In: a session and what is asked. Out: ColdRuns. A benchmark repeats its statement, so that its data are in the caches; a
program does other work between two calls. Both times are of single runs in one child, in turn, without what a block of
no runs takes (clock and loop). The interpreter's and torch's own code is cold, too, as it is in a program.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from photometer.errors import MeasurementError
from photometer.instruments.declaration import Asked, Beside, Figure, Instrument, Option
from photometer.instruments.ready_order import prepared_child, task_spec_of
from photometer.model.records import NotNegative
from photometer.model.task import TaskSpec
from photometer.model.units import format_seconds
from photometer.session.session import Session
from photometer.stats.summary import median, order_statistic_interval
from photometer.worker.cold_runs import TimeCold

# A median of so many single runs is known to some per cent; clearing 64 MiB takes some 20 ms each time.
ROUNDS = 31
SECONDS = 2.0
# As on a GPU: the caches matter if cold takes this many times as long as warm.
CACHES_MATTER = 1.1


@dataclasses.dataclass(frozen=True)
class ColdRuns:
    """Seconds of single runs, cold and warm, round by round; `empty_` are those of blocks of no runs."""

    KIND: ClassVar[str] = "cold_runs"

    task_spec: TaskSpec
    cold: tuple[NotNegative, ...]
    warm: tuple[NotNegative, ...]
    empty_cold: tuple[NotNegative, ...]
    empty_warm: tuple[NotNegative, ...]
    # The largest cache of the machine, and the buffer that was read and written before each cold run.
    cache_bytes: int = 0
    evicted_bytes: int = 0

    def __post_init__(self) -> None:
        if not (self.cold and self.warm and self.empty_cold and self.empty_warm):
            raise MeasurementError("cold runs need at least one round")

    @property
    def cold_seconds(self) -> float:
        return _net(median(self.cold), self.empty_cold)

    @property
    def warm_seconds(self) -> float:
        return _net(median(self.warm), self.empty_warm)

    @property
    def cold_interval(self) -> tuple[float, float]:
        return _net_interval(self.cold, self.empty_cold)

    @property
    def warm_interval(self) -> tuple[float, float]:
        return _net_interval(self.warm, self.empty_warm)

    @property
    def ratio(self) -> float:
        return self.cold_seconds / self.warm_seconds if self.warm_seconds > 0 else 1.0

    @property
    def is_resolved(self) -> bool:
        """Whether a single run is long enough for the clock: longer than the variation of empty blocks."""
        low, high = order_statistic_interval(self.empty_cold)
        return self.cold_interval[0] > high - low

    @property
    def caches_matter(self) -> bool:
        return self.is_resolved and self.ratio > CACHES_MATTER and self.cold_interval[0] > self.warm_interval[1]


def _net(seconds: float, empty: Sequence[float]) -> float:
    return max(seconds - median(empty), 0.0)


def _net_interval(seconds: Sequence[float], empty: Sequence[float]) -> tuple[float, float]:
    """Return the interval of the median of single runs less that of empty ones; with few rounds, the whole range."""
    ends = order_statistic_interval(seconds) if len(seconds) > 1 else (seconds[0], seconds[0])
    return _net(ends[0], empty), _net(ends[1], empty)


def time_cold(session: Session, asked: Asked) -> ColdRuns:
    """Time cold and warm runs of an order in one child, with nothing beside it."""
    timeout_seconds = asked.order.timeout_seconds
    with prepared_child(session, asked.ready, asked.cores, warmup_runs=1) as child:
        taken = child.ask(TimeCold(ROUNDS, SECONDS), timeout_seconds + SECONDS)
    return ColdRuns(
        task_spec_of(asked.order),
        tuple(taken.cold),
        tuple(taken.warm),
        tuple(taken.empty_cold),
        tuple(taken.empty_warm),
        taken.cache_bytes,
        taken.evicted_bytes,
    )


def _remark(runs: ColdRuns) -> str:
    if not runs.is_resolved:
        return "too short for single runs: its cold time is not known"
    if not runs.caches_matter:
        return ""
    return (
        f"{runs.ratio:.2g} times as long with cold caches ({format_seconds(runs.cold_seconds, 3)}, "
        f"warm {format_seconds(runs.warm_seconds, 3)}): a benchmark repeats it with warm ones, a program may not"
    )


COLD_CACHES = Instrument(
    name="cold",
    doing="timing with cold caches",
    record=ColdRuns,
    measure=time_cold,
    figures=(
        Figure(
            "cold_seconds",
            "s",
            of=lambda runs: runs.cold_seconds if runs.is_resolved else None,
            exact=False,
            head="cold",
            interval=lambda runs: runs.cold_interval,
        ),
        Figure(
            "warm_seconds",
            "s",
            of=lambda runs: runs.warm_seconds if runs.is_resolved else None,
            exact=False,
            head="warm",
            meaning="single runs, as the cold ones",
            interval=lambda runs: runs.warm_interval,
        ),
        Figure(
            "cold_over_warm",
            "×",
            of=lambda runs: runs.ratio if runs.is_resolved else None,
            exact=False,
            head="cold/warm",
        ),
    ),
    option=Option("cold", "Also time each variant with its data out of the processor's caches."),
    # An accelerator's orders have a cold mode of their own.
    applies=lambda order, options: not order.auto.on_device and not order.auto.ranks,
    # It empties the cache that all cores share.
    beside=Beside.NOTHING,
    first_guess_seconds=2.0,
    title="Cold caches",
    remark=_remark,
)
