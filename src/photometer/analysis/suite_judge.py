"""SuiteJudge: follows a suite while it is compared: which benchmark is measured next, and the verdicts at the end.

In: estimates, one replicate at a time. Out: an index to run next (None when all is decided or nothing more fits), and
verdicts corrected for the number of benchmarks. It has no clock and starts nothing; the loop calls it. A benchmark
needs a verdict within its margin or, if a gate allows it a slowdown (`slower:5%`), only a decision whether it is slower
by more than that, which takes far fewer replicates.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from photometer.analysis.judge import (
    DEFAULT_CRITERIA,
    DEFAULT_FALSE_DISCOVERY_RATE,
    DEFAULT_MARGIN,
    Criteria,
    correct_for_suite,
    judge_replicates,
    log_evidence_needed,
    times_to_certain,
)
from photometer.analysis.verdict import Verdict, reason_for_too_few
from photometer.stats.replicate import FEWEST_REPLICATES, ReplicateEstimate

# Replicates everyone gets before anyone is judged hopeful or hopeless: what a gross change needs to be called.
FIRST_REPLICATES = 4
# An undecided benchmark with less than this share of the mean count goes first, whatever its prospects: a forecast from
# few replicates is often wrong, and no benchmark may starve on a wrong one.
STARVED_SHARE = 0.5


@dataclasses.dataclass(frozen=True)
class Question:
    """What to decide about a benchmark: its verdict within `margin`, or only if it is slower by more than `allowed`."""

    margin: float = DEFAULT_MARGIN
    allowed: float | None = None

    def is_answered(self, verdict: Verdict | None) -> bool:
        if verdict is None:
            return False
        return verdict.is_final if self.allowed is None else verdict.exceeds(self.allowed) is not None


class SuiteJudge:
    """Judges benchmarks by their place, 0 to count - 1.

    `questions` are theirs, if they differ. `elsewhere` is the number of benchmarks of the same suite that others judge,
    such as other nodes of a cluster. `most_seconds_each` is the maximum for one benchmark, even if others leave more.
    """

    def __init__(
        self,
        count: int,
        criteria: Criteria = DEFAULT_CRITERIA,
        *,
        rate: float = DEFAULT_FALSE_DISCOVERY_RATE,
        seconds_per_replicate: float,
        questions: Sequence[Question] = (),
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
        self._questions = tuple(questions) or (Question(criteria.margin),) * count

    def add(self, index: int, estimate: ReplicateEstimate, seconds: float) -> Verdict:
        """Add one more replicate of a benchmark and its cost; return the verdict so far."""
        self._estimates[index].append(estimate)
        self._seconds[index].append(seconds)
        verdict = held_back(judge_replicates(self._estimates[index], self._criteria_now(index), forecast=False))
        self._verdicts[index] = verdict
        return verdict

    def give_up(self, index: int) -> None:
        """Note that a benchmark failed: it gets no more time and no verdict."""
        self._given_up.add(index)

    def settle(self, index: int) -> None:
        """Note that a benchmark is decided without its replicates: it gets no more time, and no verdict here."""
        self._settled.add(index)
        self._given_up.add(index)

    def is_settled(self, index: int) -> bool:
        return index in self._settled

    def estimates(self, index: int) -> Sequence[ReplicateEstimate]:
        """Return the estimates of a benchmark's replicates so far."""
        return tuple(self._estimates[index])

    def next(self, seconds_left: float, held: frozenset[int] = frozenset()) -> int | None:
        """Return the benchmark for the next replicate, except those `held`; None if there is none."""
        running = [
            index
            for index in range(len(self._verdicts))
            if index not in self._given_up | held and sum(self._seconds[index]) < self._most_seconds_each
        ]
        needed = self._needed()
        suite = [
            Progress(self._verdicts[index], self._cost(index), needed, self._questions[index]) for index in running
        ]
        order = order_by_need(suite, seconds_left=seconds_left)
        return running[order[0]] if order else None

    def is_answered(self, index: int) -> bool:
        """Return whether a benchmark's question is decided, so that it needs no more replicates."""
        return self._questions[index].is_answered(self._verdicts[index])

    def verdicts(self) -> tuple[Verdict | None, ...]:
        """Return the verdicts of all benchmarks with replicates, with forecasts, corrected for their number."""
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
        """Return the log-evidence that one more benchmark needs to hold among all of them."""
        logs = [
            0.0 if verdict is None else verdict.log_evidence
            for index, verdict in enumerate(self._verdicts)
            if index not in self._given_up
        ]
        logs += [0.0] * self._elsewhere
        return log_evidence_needed(logs, rate=self._rate, alone=self._criteria.false_alarm)

    def _criteria_now(self, index: int) -> Criteria:
        return dataclasses.replace(
            self._criteria, margin=self._questions[index].margin, log_evidence_needed=self._needed()
        )


def held_back(verdict: Verdict) -> Verdict:
    """Return the verdict, or undecided where it rests on too few replicates."""
    if not verdict.decided or verdict.replicates >= FEWEST_REPLICATES:
        return verdict
    reason = reason_for_too_few(verdict.verdict, verdict.replicates, FEWEST_REPLICATES)
    return dataclasses.replace(verdict, verdict="undecided", reason=reason, within=None)


@dataclasses.dataclass(frozen=True)
class Progress:
    """A benchmark's progress: its latest verdict (none before the first replicate), and the cost of a replicate."""

    verdict: Verdict | None
    seconds_per_replicate: float
    log_evidence_needed: float
    question: Question = Question()


def order_by_need(suite: Sequence[Progress], *, seconds_left: float = math.inf) -> tuple[int, ...]:
    """Return the indices of the open benchmarks whose next replicate still fits, the one to run next first.

    First every benchmark's first replicate; then those with far fewer than the mean; then those that should be decided
    soonest. A benchmark that cannot be decided in the time left comes last, nearest first, for others may finish early.
    """
    open_ones = [
        index
        for index, progress in enumerate(suite)
        if not progress.question.is_answered(progress.verdict) and progress.seconds_per_replicate <= seconds_left
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
    """Forecast by the faster of two ways: evidence grows with the time, intervals shrink with its root."""
    verdict = progress.verdict
    if verdict is None or verdict.replicates == 0:
        return FIRST_REPLICATES * progress.seconds_per_replicate
    change, (low, high), allowed = verdict.ratio - 1.0, verdict.interval, progress.question.allowed
    if allowed is None:
        roads = [_times_for_room(verdict.margin - abs(change), (high - low) / 2.0)]
        roads += [_times_for_evidence(progress)] if abs(change) > verdict.margin else []
    elif change <= allowed:
        roads = [_times_for_room(allowed - change, high - verdict.ratio)]
    else:
        beyond = _times_for_room(change - allowed, verdict.ratio - low)
        roads = [max(beyond, _times_for_evidence(progress))]
    more = verdict.replicates * (min(roads) - 1.0)
    return max(1.0, more) * progress.seconds_per_replicate


def _times_for_evidence(progress: Progress) -> float:
    assert progress.verdict is not None
    return times_to_certain(progress.verdict.log_evidence, progress.log_evidence_needed) or math.inf


def _times_for_room(room: float, reach: float) -> float:
    """Return how many times the replicates let an interval that reaches so far fit into the room."""
    return (reach / room) ** 2 if room > 0.0 and math.isfinite(reach) else math.inf


def _count(progress: Progress) -> int:
    return 0 if progress.verdict is None else progress.verdict.replicates
