"""Contests: which sides of a benchmark are compared with which, and a sampler for all of them at once.

With many sides each is compared with the reference and with the side before it: the first comparison says how much
changed, the second at which step.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from photometer.comparing.fork_sampler import Contestants, ForkSampler
from photometer.comparing.verdict_loop import Sample
from photometer.instruments.replicate import DEFAULT_TIMEOUT_SECONDS, REPLICATE_SECONDS, Side
from photometer.stats.replicate import estimate_replicate


@dataclasses.dataclass(frozen=True)
class Contest:
    """`other` against `first`, both as positions among the sides."""

    first: int
    other: int


@dataclasses.dataclass(frozen=True)
class BenchmarkSides:
    """One benchmark on the sides where it runs, by position; the reference (0) is one of them."""

    sides: Mapping[int, Side]
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS

    def contest(self, wanted: Contest) -> Contest | None:
        """Return the contest that is possible: a missing neighbour is skipped; None if there is none."""
        if wanted.other not in self.sides:
            return None
        if wanted.first == 0:
            return wanted
        before = max(place for place in self.sides if place < wanted.other)
        # Its only neighbour is the reference, with which it is compared anyway.
        return None if before == 0 else Contest(before, wanted.other)


def contests_of(sides: int) -> list[Contest]:
    """Return the contests of this many sides: all against the first, then each against the one before it."""
    return [
        *(Contest(0, other) for other in range(1, sides)),
        *(Contest(other - 1, other) for other in range(2, sides)),
    ]


class ManySidesSampler:
    """Takes replicates of all sides of a benchmark, estimated for every contest.

    A contest that is impossible for a benchmark compares a side with itself; the judge ignores it.
    """

    def __init__(self, benchmarks: Sequence[BenchmarkSides], sides: int, *, core: int | None = None) -> None:
        self._benchmarks = benchmarks
        self._contests = contests_of(sides)
        contestants = [Contestants(tuple(each.sides.values()), each.timeout_seconds) for each in benchmarks]
        # As many rounds of blocks as with two sides.
        self._forks = ForkSampler(contestants, core=core, seconds=REPLICATE_SECONDS * sides / 2)

    def sample(self, benchmark: int, turn: int) -> Sample:
        taken = self._forks.take(benchmark, turn)
        seconds = dict(zip(self._benchmarks[benchmark].sides, taken.seconds_per_run, strict=True))
        pairs = self._pairs(benchmark)
        estimates = tuple(estimate_replicate(seconds[pair.first], seconds[pair.other]) for pair in pairs)
        return Sample(benchmark, estimates, taken.measuring_seconds)

    def _pairs(self, benchmark: int) -> Iterator[Contest]:
        for wanted in self._contests:
            yield self._benchmarks[benchmark].contest(wanted) or Contest(0, 0)
