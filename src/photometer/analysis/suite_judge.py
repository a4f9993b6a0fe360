"""SuiteJudge: follows a suite while it is compared: who gets the next replicate, and the verdicts at the end.

In: estimates, one replicate at a time. Out: an index to run next (None when all is decided or nothing more fits), and
verdicts corrected for the number of benchmarks. Holds no clock and starts nothing; the loop asks it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from photometer.analysis.judge import (
    DEFAULT_CRITERIA,
    DEFAULT_FALSE_DISCOVERY_RATE,
    Criteria,
    correct_for_suite,
    judge_replicates,
)
from photometer.analysis.verdict import Verdict
from photometer.stats.false_discovery import log_evidence_needed
from photometer.stats.replicate import ReplicateEstimate

# A verdict rests on at least so many pairs of forks: one whose threads were kept waiting looked 25 times slower.
FEWEST_REPLICATES = 4

# Replicates everyone gets before anyone is judged hopeful or hopeless: what a gross change needs to be called.
FIRST_REPLICATES = 4
# An undecided benchmark with less than this share of the mean count goes first, whatever its prospects: a forecast from
# few replicates is often wrong, and no benchmark may starve on a wrong one.
STARVED_SHARE = 0.5


class SuiteJudge:
    """Benchmarks are known by their place, 0 to count - 1. `margins` are theirs, if they differ.

    `elsewhere` is the number of benchmarks of the same suite that others judge, such as other nodes of a cluster.
    `most_seconds_each` is what one benchmark may have, even if others leave more.
    """

    def __init__(
        self,
        count: int,
        criteria: Criteria = DEFAULT_CRITERIA,
        *,
        rate: float = DEFAULT_FALSE_DISCOVERY_RATE,
        seconds_per_replicate: float,
        margins: Sequence[float] = (),
        elsewhere: int = 0,
        most_seconds_each: float = math.inf,
    ) -> None:
        self._criteria = criteria
        self._rate = rate
        self._elsewhere = elsewhere
        self._estimates: list[list[ReplicateEstimate]] = [[] for _ in range(count)]
        self._verdicts: list[Verdict | None] = [None] * count
        self._seconds: list[list[float]] = [[] for _ in range(count)]
        self._first_guess_seconds = seconds_per_replicate
        self._most_seconds_each = most_seconds_each
        self._given_up: set[int] = set()
        self._settled: set[int] = set()
        self._margins = tuple(margins) or (criteria.margin,) * count

    def add(self, index: int, estimate: ReplicateEstimate, seconds: float) -> Verdict:
        """One more replicate of a benchmark, and what it cost; the verdict so far comes back."""
        self._estimates[index].append(estimate)
        self._seconds[index].append(seconds)
        verdict = held_back(judge_replicates(self._estimates[index], self._criteria_now(index), forecast=False))
        self._verdicts[index] = verdict
        return verdict

    def give_up(self, index: int) -> None:
        """Note that it failed: it gets no more time and no verdict."""
        self._given_up.add(index)

    def settle(self, index: int) -> None:
        """Note that it is decided by other means than its replicates: it gets no more time, and no verdict here."""
        self._settled.add(index)
        self._given_up.add(index)

    def is_settled(self, index: int) -> bool:
        return index in self._settled

    def estimates(self, index: int) -> Sequence[ReplicateEstimate]:
        """Return what the replicates of a benchmark said so far."""
        return tuple(self._estimates[index])

    def next(self, seconds_left: float, held: frozenset[int] = frozenset()) -> int | None:
        """Return who gets the next replicate, but none of those `held` back; None if nobody should."""
        running = [
            index
            for index in range(len(self._verdicts))
            if index not in self._given_up | held and sum(self._seconds[index]) < self._most_seconds_each
        ]
        needed = self._needed()
        suite = [Progress(self._verdicts[index], self._cost(index), needed) for index in running]
        order = order_by_need(suite, seconds_left=seconds_left)
        return running[order[0]] if order else None

    def verdicts(self) -> tuple[Verdict | None, ...]:
        """Of every benchmark that has replicates, with forecasts, corrected for their number."""
        judged = [
            None
            if index in self._given_up or not estimates
            else held_back(judge_replicates(estimates, self._criteria_now(index)))
            for index, estimates in enumerate(self._estimates)
        ]
        present = [verdict for verdict in judged if verdict is not None]
        corrected = iter(correct_for_suite(present, rate=self._rate, elsewhere=self._elsewhere) if present else ())
        return tuple(None if verdict is None else next(corrected) for verdict in judged)

    def _cost(self, index: int) -> float:
        seconds = self._seconds[index]
        return sum(seconds) / len(seconds) if seconds else self._first_guess_seconds

    def _needed(self) -> float:
        """Log-evidence that one more benchmark needs to stand among all of them."""
        logs = [
            0.0 if verdict is None else verdict.log_evidence
            for index, verdict in enumerate(self._verdicts)
            if index not in self._given_up
        ]
        logs += [0.0] * self._elsewhere
        return log_evidence_needed(logs, rate=self._rate, alone=self._criteria.false_alarm)

    def _criteria_now(self, index: int) -> Criteria:
        return dataclasses.replace(self._criteria, margin=self._margins[index], log_evidence_needed=self._needed())


def held_back(verdict: Verdict) -> Verdict:
    """Return the verdict, or undecided where it rests on too few replicates."""
    if not verdict.decided or verdict.replicates >= FEWEST_REPLICATES:
        return verdict
    reason = f"looks {verdict.verdict}, but {verdict.replicates} replicates are too few; more time would tell."
    return dataclasses.replace(verdict, verdict="undecided", reason=reason)


@dataclasses.dataclass(frozen=True)
class Progress:
    """One benchmark so far: its latest verdict (none before the first replicate), and what a replicate of it costs."""

    verdict: Verdict | None
    seconds_per_replicate: float
    log_evidence_needed: float


def order_by_need(suite: Sequence[Progress], *, seconds_left: float = math.inf) -> tuple[int, ...]:
    """Return the indices of the undecided benchmarks whose next replicate still fits, the one to run next first.

    First everyone's first replicates; then whoever starves; then whoever is forecast to be decided soonest. A benchmark
    that cannot be decided in the time left comes last, nearest first, for others may finish early.
    """
    open_ones = [
        index
        for index, progress in enumerate(suite)
        if not (progress.verdict is not None and progress.verdict.decided)
        and progress.seconds_per_replicate <= seconds_left
    ]
    if not open_ones:
        return ()
    counts = {index: _count(suite[index]) for index in open_ones}
    mean_count = sum(counts.values()) / len(counts)

    def rank(index: int) -> tuple[int, float, int]:
        progress, count = suite[index], counts[index]
        if count < FIRST_REPLICATES:
            return (0, float(count), index)
        if count < STARVED_SHARE * mean_count:
            return (1, float(count), index)
        seconds = seconds_to_decision(progress)
        return (2 if seconds <= seconds_left else 3, seconds, index)

    return tuple(sorted(open_ones, key=rank))


def seconds_to_decision(progress: Progress) -> float:
    """Forecast by the nearer of two roads: evidence grows in step with replicates, intervals shrink with their root."""
    verdict = progress.verdict
    if verdict is None or verdict.replicates == 0:
        return FIRST_REPLICATES * progress.seconds_per_replicate
    count = verdict.replicates
    more_for_change = math.inf
    if verdict.log_evidence > 0.0 and abs(verdict.ratio - 1.0) > verdict.margin:
        more_for_change = count * (progress.log_evidence_needed / verdict.log_evidence - 1.0)
    more_for_same = math.inf
    room = verdict.margin - abs(verdict.ratio - 1.0)
    reach = (verdict.interval[1] - verdict.interval[0]) / 2.0
    if room > 0.0 and math.isfinite(reach):
        more_for_same = count * ((reach / room) ** 2 - 1.0)
    more = min(more_for_change, more_for_same)
    return max(1.0, more) * progress.seconds_per_replicate


def _count(progress: Progress) -> int:
    return 0 if progress.verdict is None else progress.verdict.replicates
