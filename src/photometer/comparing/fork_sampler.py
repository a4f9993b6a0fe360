"""ForkSampler: replicates in fresh forks of sessions' servers, for statements, environments and rungs.

Servers take turns, so that no verdict depends on one pair of processes.
"""

from __future__ import annotations

import dataclasses
import functools
import random
from collections.abc import Callable, Sequence

from photometer.comparing.verdict_loop import Sample
from photometer.errors import WorkerError
from photometer.instruments.replicate import (
    DEVICE_REPLICATE_SECONDS,
    REPLICATE_SECONDS,
    Forks,
    Replicate,
    Side,
    take_replicate,
)
from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS
from photometer.session.cores import quietest_core
from photometer.session.layout import Layout
from photometer.session.session import ServerKind, compiling
from photometer.stats.replicate import estimate_replicate

# A pair of servers has its own bias, mostly below 0.1 % and seldom 0.2 %. With 0.15 % and one pair for all, 6 %
# of comparisons were false alarms; with another pair every six replicates, under 0.5 %.
REPLICATES_PER_LANE = 6
# Enough lanes that none decides alone; a start costs 2 s, so they are kept and used in turn. Sides of one session need
# only one: they change servers from replicate to replicate, which takes a server's peculiarities out of the difference.
MOST_LANES = 4
# The next lane's servers start when this many replicates of the current one are taken: they then start on another core
# while the rest is measured.
TURNS_AHEAD = 1


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


class ForkSampler:
    """`core` is where statements with one thread run; by default the quietest one."""

    def __init__(
        self,
        benchmarks: Sequence[Contestants],
        *,
        core: int | None = None,
        layout: Layout | None = None,
        seconds: float = REPLICATE_SECONDS,
        seed: int | None = None,
    ) -> None:
        self._benchmarks = benchmarks
        self._core = quietest_core() if core is None else core
        self._layout = layout or Layout()
        self._seconds = seconds
        self._order = random.Random(seed)
        self._sizes: dict[int, tuple[int, ...]] = {}
        # Benchmarks on a device whose blocks cannot be graphs.
        self._uncaptured: set[int] = set()

    def sample(self, benchmark: int, turn: int) -> Sample:
        replicate = self.take(benchmark, turn)
        return estimated(benchmark, replicate.seconds_per_run, replicate.measuring_seconds)

    def take(self, benchmark: int, turn: int, seconds: float | None = None) -> Replicate:
        """Take one replicate, of another length than the usual if `seconds` says so.

        `turn`, how many the benchmark has had, selects the lane.
        """
        contestants = self._benchmarks[benchmark]
        lanes = 1 if contestants.of_one_session else MOST_LANES
        lane = (turn // REPLICATES_PER_LANE) % lanes
        if turn == 0:
            self._start_ahead(contestants, 0)
        elif turn % REPLICATES_PER_LANE == TURNS_AHEAD and turn // REPLICATES_PER_LANE + 1 < lanes:
            self._start_ahead(contestants, lane + 1)
        take = functools.partial(
            take_replicate,
            kind=self._kind(contestants, lane),
            core=self._core,
            order=self._order,
            seconds=DEVICE_REPLICATE_SECONDS if contestants.on_device else seconds or self._seconds,
            timeout_seconds=contestants.timeout_seconds,
            runs_per_block=self._sizes.get(benchmark, ()),
        )
        on_device = contestants.on_device
        replicate = self._take_on_device(benchmark, take) if on_device else take(contestants.sides)
        self._sizes[benchmark] = replicate.sizes_to_use_again()
        return replicate

    def _take_on_device(self, benchmark: int, take: Callable[[Sequence[Side]], Replicate]) -> Replicate:
        """Take a replicate whose blocks are graphs, unless a side's statement cannot be captured: then none are."""
        sides = self._benchmarks[benchmark].sides
        if benchmark not in self._uncaptured:
            try:
                return take(
                    [dataclasses.replace(s, prepare=dataclasses.replace(s.prepare, by_graph=True)) for s in sides]
                )
            except WorkerError:
                # Any other problem shows again without graphs.
                self._uncaptured.add(benchmark)
        return take(sides)

    def _start_ahead(self, contestants: Contestants, lane: int) -> None:
        """Start the servers of all sides at once. With several threads, each starts later, on its own cores."""
        if contestants.processors > 1:
            return
        kind = self._kind(contestants, lane)
        wanted: dict[int, tuple[Forks, list[ServerKind]]] = {}
        for side in contestants.sides:
            wanted.setdefault(id(side.session), (side.session, []))[1].append(kind.importing(side.prepare))
        for session, kinds in wanted.values():
            session.start_ahead(kinds)

    def _kind(self, contestants: Contestants, lane: int) -> ServerKind:
        kind = compiling(contestants.device) if contestants.compiles else ServerKind()
        return dataclasses.replace(kind, layout=self._layout, lane=lane, spins=contestants.processors > 1)


def estimated(benchmark: int, seconds_per_run: Sequence[Sequence[float]], measuring_seconds: float) -> Sample:
    """Estimate every other side against the first."""
    first, *others = seconds_per_run
    return Sample(benchmark, tuple(estimate_replicate(first, other) for other in others), measuring_seconds)


def replicate_record(
    order_id: str, replicate: Replicate, places: Sequence[int] = (0, 1), layout: int = 0
) -> ComparisonReplicate:
    """Return a replicate as a results file keeps it; `places` are the positions of its sides."""
    return ComparisonReplicate.from_seconds(
        order_id,
        replicate.runs_per_block[0],
        dict(zip(places, replicate.seconds_per_run, strict=True)),
        measuring_seconds=replicate.measuring_seconds,
        whole_seconds=replicate.whole_seconds,
        layout=layout,
    )
