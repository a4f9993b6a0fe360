"""SuiteJudge: follows a suite while it is compared: who gets the next replicate, and the verdicts at the end.

In: estimates, one replicate at a time. Out: an index to run next (None when all is decided or nothing more fits), and
verdicts corrected for the number of benchmarks. Holds no clock and starts nothing; the loop asks it.
"""

from __future__ import annotations

import dataclasses

from photometer.analysis.allocation import Progress, order_by_need
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


class SuiteJudge:
    """Benchmarks are known by their place, 0 to count - 1."""

    def __init__(
        self,
        count: int,
        criteria: Criteria = DEFAULT_CRITERIA,
        *,
        rate: float = DEFAULT_FALSE_DISCOVERY_RATE,
        seconds_per_replicate: float,
    ) -> None:
        self._criteria = criteria
        self._rate = rate
        self._estimates: list[list[ReplicateEstimate]] = [[] for _ in range(count)]
        self._verdicts: list[Verdict | None] = [None] * count
        self._seconds: list[list[float]] = [[] for _ in range(count)]
        self._first_guess_seconds = seconds_per_replicate
        self._given_up: set[int] = set()

    def add(self, index: int, estimate: ReplicateEstimate, seconds: float) -> Verdict:
        """One more replicate of a benchmark, and what it cost; the verdict so far comes back."""
        self._estimates[index].append(estimate)
        self._seconds[index].append(seconds)
        verdict = held_back(judge_replicates(self._estimates[index], self._criteria_now(), forecast=False))
        self._verdicts[index] = verdict
        return verdict

    def give_up(self, index: int) -> None:
        """It failed: it gets no more time and no verdict."""
        self._given_up.add(index)

    def next(self, seconds_left: float) -> int | None:
        running = [index for index in range(len(self._verdicts)) if index not in self._given_up]
        needed = self._needed()
        suite = [Progress(self._verdicts[index], self._cost(index), needed) for index in running]
        order = order_by_need(suite, seconds_left=seconds_left)
        return running[order[0]] if order else None

    def verdicts(self) -> tuple[Verdict | None, ...]:
        """Of every benchmark that has replicates, with forecasts, corrected for their number."""
        criteria = self._criteria_now()
        judged = [
            None if index in self._given_up or not estimates else held_back(judge_replicates(estimates, criteria))
            for index, estimates in enumerate(self._estimates)
        ]
        present = [verdict for verdict in judged if verdict is not None]
        corrected = iter(correct_for_suite(present, rate=self._rate) if present else ())
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
        return log_evidence_needed(logs, rate=self._rate, alone=self._criteria.false_alarm)

    def _criteria_now(self) -> Criteria:
        return dataclasses.replace(self._criteria, log_evidence_needed=self._needed())


def held_back(verdict: Verdict) -> Verdict:
    """The verdict, or undecided where it rests on too few replicates."""
    if not verdict.decided or verdict.replicates >= FEWEST_REPLICATES:
        return verdict
    reason = f"looks {verdict.verdict}, but {verdict.replicates} replicates are too few; more time would tell."
    return dataclasses.replace(verdict, verdict="undecided", reason=reason)
