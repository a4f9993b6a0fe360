"""The loop behind every verdict: take a replicate, estimate, judge, report, and stop as soon as more would not help.

In: a sampler that takes replicates, and a judge that chooses the next benchmark. Out: the errors of benchmarks that
were given up, and the time spent; the judge has the verdicts. Every comparison uses this loop: on the host or a device,
in one environment or several, with any number of sides.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from typing import Protocol

from photometer.analysis.judge import DEFAULT_FALSE_DISCOVERY_RATE, Criteria
from photometer.analysis.suite_judge import SuiteJudge
from photometer.analysis.verdict import Verdict
from photometer.errors import DefinitionError, PhotometerError, WorkerCrashed, WorkerTimeout
from photometer.instruments.replicate import REPLICATE_SECONDS
from photometer.stats.replicate import ReplicateEstimate


@dataclasses.dataclass(frozen=True)
class Sample:
    """One replicate of one benchmark: an estimate per contest (None if it is impossible), and its measuring seconds."""

    benchmark: int
    estimates: tuple[ReplicateEstimate | None, ...]
    seconds: float


class Sampler(Protocol):
    """Takes replicates of benchmarks, which are identified by position."""

    def sample(self, benchmark: int, turn: int) -> Sample:
        """Take one more replicate; `turn` is how many the benchmark has had."""


class Gate(Protocol):
    """Settles benchmarks by means other than replicates, while they are sampled."""

    def update(self) -> None:
        """Settle the benchmarks that can be settled now."""

    def held(self) -> frozenset[int]:
        """Return the contests that must not get replicates for now."""

    def wait(self) -> bool:
        """Wait briefly for results that could settle the rest. Return whether any can still come."""


class NoGate:
    def update(self) -> None:
        pass

    def held(self) -> frozenset[int]:
        return frozenset()

    def wait(self) -> bool:
        return False


OnVerdict = Callable[[int, Verdict, float], object]
"""Index of the contest, its verdict so far, and the measuring seconds spent on all that the gate has not settled."""


@dataclasses.dataclass(frozen=True)
class LoopOutcome:
    """`failed` are the errors of benchmarks that were given up, by position."""

    failed: dict[int, PhotometerError]
    measuring_seconds: float


class LoopStopped(KeyboardInterrupt):
    """A signal such as Ctrl-C stopped the loop; the judge has the verdicts so far."""

    def __init__(self, outcome: LoopOutcome) -> None:
        super().__init__()
        self.outcome = outcome


def run_to_verdicts(
    benchmarks: int,
    sampler: Sampler,
    judge: SuiteJudge,
    *,
    budget_seconds: float | Callable[[int], float],
    others: int = 1,
    known: Iterable[Sample] = (),
    retries: Callable[[int], int] = lambda _: 0,
    on_verdict: OnVerdict = lambda *_: None,
    gate: Gate = NoGate(),  # noqa: B008 - it has no state
    wall_seconds_left: Callable[[], float] = lambda: math.inf,
) -> LoopOutcome:
    """Sample until another replicate would help no benchmark, or the budget or the time is spent.

    A benchmark with several `others` besides its first side has one contest for each: for the judge, benchmark b is
    contests b·others to (b+1)·others - 1. `known` are samples of a resumed comparison. The budget may depend on how
    many benchmarks the gate has not settled. Raise LoopStopped if a signal ends it.
    """
    turns = [0] * benchmarks
    seconds = [0.0] * benchmarks
    spent = 0.0
    failed: dict[int, PhotometerError] = {}

    def is_settled(benchmark: int) -> bool:
        return all(judge.is_settled(benchmark * others + other) for other in range(others))

    def add(sample: Sample) -> None:
        nonlocal spent
        turns[sample.benchmark] += 1
        seconds[sample.benchmark] += sample.seconds
        spent += sample.seconds
        spent_on_unsettled = sum(each for place, each in enumerate(seconds) if not is_settled(place))
        for other, estimate in enumerate(sample.estimates):
            contest = sample.benchmark * others + other
            if estimate is not None:
                on_verdict(contest, judge.add(contest, estimate, sample.seconds), spent_on_unsettled)

    for sample in known:
        add(sample)
    try:
        while True:
            gate.update()
            # Benchmarks that the gate has settled do not count against the budget.
            timed = [each for each in range(benchmarks) if not is_settled(each)]
            budget = budget_seconds(len(timed)) if callable(budget_seconds) else budget_seconds
            left = budget - sum(seconds[each] for each in timed)
            held = gate.held()
            contest = judge.next(min(left, wall_seconds_left()), held)
            if contest is None:
                if wall_seconds_left() > 0.0 and (gate.wait() or gate.held() != held):
                    continue
                break
            benchmark = contest // others
            try:
                sample = _with_retries(sampler, benchmark, turns[benchmark], retries(benchmark))
            except PhotometerError as error:
                failed[benchmark] = error
                for other in range(others):
                    judge.give_up(benchmark * others + other)
                continue
            add(sample)
    except KeyboardInterrupt as stop:
        raise LoopStopped(LoopOutcome(failed, spent)) from stop
    return LoopOutcome(failed, spent)


def verdict_of_one(
    sampler: Sampler,
    criteria: Criteria,
    *,
    budget: float,
    callback: Callable[[Verdict], object] | None = None,
    seconds_per_replicate: float = REPLICATE_SECONDS,
) -> Verdict:
    """Return the verdict of one benchmark with two sides. Raise its error if it fails."""
    check_budget(budget)
    judge = SuiteJudge(
        1, criteria, rate=DEFAULT_FALSE_DISCOVERY_RATE, seconds_per_replicate=min(seconds_per_replicate, budget)
    )
    outcome = run_to_verdicts(
        1,
        sampler,
        judge,
        budget_seconds=budget,
        on_verdict=lambda _, verdict, __: None if callback is None else callback(verdict),
    )
    if outcome.failed:
        raise outcome.failed[0]
    (verdict,) = judge.verdicts()
    assert verdict is not None
    return verdict


def check_budget(budget: float) -> None:
    if not budget > 0:
        raise DefinitionError(f"budget must be positive, not {budget!r}", remedy="Give it in seconds.")


def _with_retries(sampler: Sampler, benchmark: int, turn: int, retries: int) -> Sample:
    """Return a sample; retry after a crash or a time-out, which the machine may have caused."""
    for _ in range(retries):
        try:
            return sampler.sample(benchmark, turn)
        except (WorkerCrashed, WorkerTimeout):
            continue
    return sampler.sample(benchmark, turn)
