"""Rank two or more statements: every pair gets a verdict, corrected for the number of pairs.

In: a source of replicates. Out: the Ranking. On the host a replicate has blocks of all statements side by side, so that
it adds evidence about every pair: the loop first compares all with the first statement, then neighbours in the ranking
that are still undecided; at the end every pair is judged by all replicates. On a device, each pair is sampled
separately.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from photometer.analysis.judge import (
    DEFAULT_FALSE_DISCOVERY_RATE,
    Criteria,
    correct_for_suite,
    judge_replicates,
)
from photometer.analysis.ranking import PairVerdict, Ranking, rank_statements
from photometer.analysis.suite_judge import Question, SuiteJudge, held_back
from photometer.analysis.verdict import Verdict
from photometer.comparing.verdict_loop import Sample, Sampler, run_to_verdicts
from photometer.errors import DefinitionError
from photometer.instruments.replicate import REPLICATE_SECONDS, Replicate
from photometer.stats.replicate import ReplicateEstimate, estimate_replicate

OnLook = Callable[[Ranking, float], object]
"""The ranking so far, and the measuring seconds spent."""

Pair = tuple[int, int]


class ReplicateSource(Protocol):
    """Takes replicates of all its statements."""

    def take(self, benchmark: int, turn: int) -> Replicate: ...


@dataclasses.dataclass(frozen=True)
class Stopping:
    """When to stop: seconds of measuring, wall-clock seconds since `began` (None: no limit), and the criteria."""

    budget: float
    limit: float | None = None
    criteria: Criteria = Criteria()  # noqa: RUF009 - frozen, so sharing it is safe
    began: float = dataclasses.field(default_factory=time.monotonic)
    # The slowdown that a gate allows, if it is enough to know whether a statement is slower by more than that.
    allowed: float | None = None

    def __post_init__(self) -> None:
        for name, seconds in (("budget", self.budget), ("limit", self.limit)):
            if seconds is not None and not seconds > 0:
                raise DefinitionError(f"{name} must be positive, not {seconds!r}", remedy="Give it in seconds.")

    def wall_seconds_left(self) -> float:
        return math.inf if self.limit is None else self.began + self.limit - time.monotonic()

    def judge(self, contests: int, all_pairs: int) -> SuiteJudge:
        """Return a judge of some of the pairs that requires evidence that is sufficient among all of them (e-BH)."""
        return SuiteJudge(
            contests,
            self.criteria,
            rate=DEFAULT_FALSE_DISCOVERY_RATE * contests / all_pairs,
            seconds_per_replicate=min(REPLICATE_SECONDS, self.budget),
            questions=[Question(self.criteria.margin, self.allowed)] * contests,
        )


def pairs_of(sides: int) -> tuple[Pair, ...]:
    return tuple(itertools.combinations(range(sides), 2))


def rank_side_by_side(
    names: Sequence[str],
    source: ReplicateSource,
    stopping: Stopping,
    *,
    on_look: OnLook | None = None,
    measured_by: str = "",
) -> Ranking:
    """Rank statements whose replicates are taken together. Raise the error of a statement."""
    field = _Field(source)
    looks = _Looks(names, on_look, measured_by)
    against_first = tuple((0, side) for side in range(1, len(names)))
    spent = field.run(against_first, stopping, looks)
    ranking = looks.ranking(field.verdicts(pairs_of(len(names)), stopping.criteria))
    neighbours = _open_neighbours(names, ranking)
    if neighbours and spent < stopping.budget:
        field.run(neighbours, stopping, looks)
        ranking = looks.ranking(field.verdicts(pairs_of(len(names)), stopping.criteria))
    return ranking


def rank_apart(names: Sequence[str], sampler: Sampler, stopping: Stopping, *, on_look: OnLook | None = None) -> Ranking:
    """Rank statements whose pairs are sampled separately: benchmark p is pair p of `pairs_of`."""
    pairs = pairs_of(len(names))
    judge = stopping.judge(len(pairs), len(pairs))
    looks = _Looks(names, on_look)
    outcome = run_to_verdicts(
        len(pairs),
        sampler,
        judge,
        budget_seconds=stopping.budget,
        wall_seconds_left=lambda: stopping.wall_seconds_left() if looks.all_are_known else math.inf,
        on_verdict=lambda place, verdict, spent: looks.add(pairs[place], verdict, spent),
    )
    for error in outcome.failed.values():
        raise error
    judged = dict(zip(pairs, judge.verdicts(), strict=True))
    return looks.ranking({pair: verdict for pair, verdict in judged.items() if verdict is not None})


class _Field:
    """All statements side by side, and every replicate of them so far."""

    def __init__(self, source: ReplicateSource) -> None:
        self._source = source
        self._replicates: list[Replicate] = []
        self._estimates: dict[tuple[int, Pair], ReplicateEstimate] = {}

    def take(self, benchmark: int, turn: int, contests: Sequence[Pair]) -> Sample:
        self._replicates.append(self._source.take(benchmark, turn))
        return self._sample(len(self._replicates) - 1, contests)

    def _sample(self, place: int, contests: Sequence[Pair]) -> Sample:
        """Return a replicate as a sample of some of the pairs."""
        estimates = tuple(self._estimate(place, pair) for pair in contests)
        return Sample(0, estimates, self._replicates[place].measuring_seconds)

    def _estimate(self, place: int, pair: Pair) -> ReplicateEstimate:
        if (place, pair) not in self._estimates:
            times = self._replicates[place].seconds_per_run
            self._estimates[place, pair] = estimate_replicate(times[pair[0]], times[pair[1]])
        return self._estimates[place, pair]

    def run(self, contests: Sequence[Pair], stopping: Stopping, looks: _Looks) -> float:
        """Take replicates until these pairs are decided, and return the measuring seconds spent so far."""
        sides = len(looks.names)
        known = [self._sample(place, contests) for place in range(len(self._replicates))]
        outcome = run_to_verdicts(
            1,
            _Chosen(self, contests),
            stopping.judge(len(contests), len(pairs_of(sides))),
            budget_seconds=stopping.budget,
            others=len(contests),
            known=known,
            # At least one replicate is taken.
            wall_seconds_left=lambda: stopping.wall_seconds_left() if self._replicates else math.inf,
            # Report after the last pair of a new replicate, when all of them are up to date.
            on_verdict=lambda place, verdict, spent: looks.add(
                contests[place], verdict, spent, report=place == len(contests) - 1 and verdict.replicates > len(known)
            ),
        )
        for error in outcome.failed.values():
            raise error
        return outcome.measuring_seconds

    def verdicts(self, pairs: Sequence[Pair], criteria: Criteria) -> dict[Pair, Verdict]:
        """Judge every pair by all replicates, corrected for their number; forecast only pairs with the first."""
        judged = [
            held_back(
                judge_replicates(
                    [self._estimate(place, pair) for place in range(len(self._replicates))],
                    criteria,
                    forecast=pair[0] == 0,
                )
            )
            for pair in pairs
        ]
        return dict(zip(pairs, correct_for_suite(judged), strict=True))


class _Chosen:
    """Samples the field, with estimates of some pairs."""

    def __init__(self, field: _Field, contests: Sequence[Pair]) -> None:
        self._field = field
        self._contests = contests

    def sample(self, benchmark: int, turn: int) -> Sample:
        return self._field.take(benchmark, turn, self._contests)


class _Looks:
    """What is known about each pair so far, and the callback after each replicate."""

    def __init__(self, names: Sequence[str], on_look: OnLook | None, measured_by: str = "") -> None:
        self.names = names
        self._on_look = on_look
        self._measured_by = measured_by
        self._known: dict[Pair, Verdict] = {}

    def add(self, pair: Pair, verdict: Verdict, spent_seconds: float, *, report: bool = True) -> None:
        self._known[pair] = verdict
        if self._on_look is not None and report and self.all_are_known:
            self._on_look(self.ranking(self._known), spent_seconds)

    @property
    def all_are_known(self) -> bool:
        """Whether every statement has been compared with the first."""
        return all((0, side) in self._known for side in range(1, len(self.names)))

    def ranking(self, verdicts: dict[Pair, Verdict]) -> Ranking:
        if any((0, side) not in verdicts for side in range(1, len(self.names))):
            raise DefinitionError(
                "the time ran out before every statement had a replicate", remedy="Give more time: budget=, limit=."
            )
        pairs = [
            PairVerdict(self.names[a], self.names[b], self._with_source(verdict))
            for (a, b), verdict in verdicts.items()
        ]
        return rank_statements(self.names, pairs)

    def _with_source(self, verdict: Verdict) -> Verdict:
        return dataclasses.replace(verdict, measured_by=self._measured_by) if self._measured_by else verdict


def _open_neighbours(names: Sequence[str], ranking: Ranking) -> tuple[Pair, ...]:
    """Return pairs of neighbours in the ranking, without the reference, that have no final verdict yet."""
    place = {name: index for index, name in enumerate(names)}
    order = [place[statement.name] for statement in ranking]
    pairs = [(min(pair), max(pair)) for pair in itertools.pairwise(order)]
    return tuple(
        pair for pair in pairs if 0 not in pair and not ranking.pair(names[pair[0]], names[pair[1]]).verdict.is_final
    )
