"""ForkSampler: replicates in fresh forks of sessions' servers, for statements, environments and tests.

Servers take turns, so that no verdict depends on one pair of processes.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from photometer.comparing.verdict_loop import Sample
from photometer.instruments.contest import Contest, Contestants
from photometer.instruments.replicate import REPLICATE_SECONDS, Replicate
from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.session.cores import quietest_core
from photometer.session.layout import Layout
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
        core = quietest_core() if core is None else core
        order = random.Random(seed)
        self._contests = [Contest(each, core=core, order=order, layout=layout) for each in benchmarks]
        self._seconds = seconds

    def sample(self, benchmark: int, turn: int) -> Sample:
        replicate = self.take(benchmark, turn)
        return estimated(benchmark, replicate.seconds_per_run, replicate.measuring_seconds)

    def take(self, benchmark: int, turn: int, seconds: float | None = None) -> Replicate:
        """Take one replicate, of the length that is worth its preparation unless `seconds` is given.

        `turn`, how many the benchmark has had, selects the lane.
        """
        contest = self._contests[benchmark]
        lanes = 1 if contest.contestants.of_one_session else MOST_LANES
        lane = (turn // REPLICATES_PER_LANE) % lanes
        if turn == 0:
            contest.start_ahead(0)
        elif turn % REPLICATES_PER_LANE == TURNS_AHEAD and turn // REPLICATES_PER_LANE + 1 < lanes:
            contest.start_ahead(lane + 1)
        return contest.take(lane=lane, seconds=seconds or contest.worthwhile_seconds(self._seconds))


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
