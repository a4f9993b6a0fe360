"""Two or more statements to a Ranking: every pair is a contest of the one loop, corrected for their number.

In: something that takes replicates of all statements side by side. Out: the Ranking. As each replicate has blocks of
all statements, it says something of every pair; the loop goes on until every pair is decided or the budget is spent.
"""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from photometer.analysis.judge import DEFAULT_FALSE_DISCOVERY_RATE, Criteria
from photometer.analysis.ranking import PairVerdict, Ranking, rank_statements
from photometer.analysis.suite_judge import SuiteJudge
from photometer.analysis.verdict import Verdict
from photometer.comparing.verdict_loop import Sample, Sampler, run_to_verdicts
from photometer.errors import DefinitionError
from photometer.instruments.clock import Clock
from photometer.instruments.replicate import REPLICATE_SECONDS, Replicate
from photometer.stats.replicate import estimate_replicate

OnLook = Callable[[Ranking, float], object]
"""The ranking so far, and the measuring seconds spent."""


class ReplicateSource(Protocol):
    """Takes replicates of all statements, which it was given."""

    def take(self, benchmark: int, turn: int) -> Replicate: ...


class PairsSampler:
    """One benchmark, whose replicates are estimated for every pair of its sides."""

    def __init__(self, source: ReplicateSource, sides: int) -> None:
        self._source = source
        self._pairs = pairs_of(sides)

    def sample(self, benchmark: int, turn: int) -> Sample:
        replicate = self._source.take(benchmark, turn)
        times = replicate.seconds_per_run
        estimates = tuple(estimate_replicate(times[first], times[second]) for first, second in self._pairs)
        return Sample(benchmark, estimates, replicate.measuring_seconds)


class WithinLimit:
    """Gives up what is left of the budget when one more replicate would go past the limit, which is wall-clock time."""

    def __init__(self, sampler: Sampler, budget: float, deadline: float, clock: Clock = time.monotonic) -> None:
        self._sampler = sampler
        self._budget = budget
        self._deadline = deadline
        self._clock = clock

    def sample(self, benchmark: int, turn: int) -> Sample:
        began = self._clock()
        sample = self._sampler.sample(benchmark, turn)
        now = self._clock()
        if now + (now - began) <= self._deadline:
            return sample
        return dataclasses.replace(sample, seconds=max(sample.seconds, self._budget))


@dataclasses.dataclass(frozen=True)
class Stopping:
    """When to stop: seconds of measuring, seconds on the wall since `began` (None: no limit), and how sure to be."""

    budget: float
    limit: float | None = None
    criteria: Criteria = Criteria()  # noqa: RUF009 - frozen, so sharing it is safe
    began: float = dataclasses.field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        for name, seconds in (("budget", self.budget), ("limit", self.limit)):
            if seconds is not None and not seconds > 0:
                raise DefinitionError(f"{name} must be positive, not {seconds!r}", remedy="Give it in seconds.")


def pairs_of(sides: int) -> tuple[tuple[int, int], ...]:
    return tuple(itertools.combinations(range(sides), 2))


def rank(
    names: Sequence[str],
    sampler: Sampler,
    stopping: Stopping,
    *,
    together: bool = True,
    on_look: OnLook | None = None,
    measured_by: str = "",
) -> Ranking:
    """Run to the ranking; an error of a statement is raised.

    `together`: a sample is of all statements and has an estimate for every pair. Otherwise each pair is a benchmark
    of its own, sampled apart from the others.
    """
    pairs = pairs_of(len(names))
    judge = SuiteJudge(
        len(pairs),
        stopping.criteria,
        rate=DEFAULT_FALSE_DISCOVERY_RATE,
        seconds_per_replicate=min(REPLICATE_SECONDS, stopping.budget),
    )
    looks = _Looks(names, on_look, measured_by, together=together)
    if stopping.limit is not None:
        sampler = WithinLimit(sampler, stopping.budget, stopping.began + stopping.limit)
    outcome = run_to_verdicts(
        1 if together else len(pairs),
        sampler,
        judge,
        budget_seconds=stopping.budget,
        others=len(pairs) if together else 1,
        on_verdict=looks.add,
    )
    for error in outcome.failed.values():
        raise error
    verdicts = judge.verdicts()
    for pair, verdict in enumerate(verdicts):
        if verdict is not None:
            looks.known[pair] = verdict
    return looks.ranking()


class _Looks:
    """What is known of each pair so far, and whom to tell once per replicate."""

    def __init__(self, names: Sequence[str], on_look: OnLook | None, measured_by: str, *, together: bool) -> None:
        self._names = names
        self._together = together
        self._on_look = on_look
        self._measured_by = measured_by
        self.known: dict[int, Verdict] = {}
        self._pairs = pairs_of(len(names))

    def add(self, pair: int, verdict: Verdict, spent_seconds: float) -> None:
        self.known[pair] = verdict
        complete = len(self.known) == len(self._pairs)
        ends_a_replicate = not self._together or pair == len(self._pairs) - 1
        if self._on_look is not None and complete and ends_a_replicate:
            self._on_look(self.ranking(), spent_seconds)

    def ranking(self) -> Ranking:
        if len(self.known) < len(self._pairs):
            raise DefinitionError(
                "the time was over before every pair had a replicate", remedy="Give more time: budget=, limit=."
            )
        pairs = [
            PairVerdict(self._names[a], self._names[b], self._with_source(self.known[pair]))
            for pair, (a, b) in enumerate(self._pairs)
        ]
        return rank_statements(self._names, pairs)

    def _with_source(self, verdict: Verdict) -> Verdict:
        return dataclasses.replace(verdict, measured_by=self._measured_by) if self._measured_by else verdict
