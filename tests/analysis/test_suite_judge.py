"""A suite under a judge: order, stopping, correction, and its error rate over noise that no bell curve describes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from photometer.analysis.judge import Criteria
from photometer.analysis.suite_judge import (
    FIRST_REPLICATES,
    Progress,
    Question,
    SuiteJudge,
    order_by_need,
    seconds_to_decision,
)
from photometer.analysis.verdict import Verdict
from photometer.stats.replicate import FEWEST_REPLICATES, ReplicateEstimate
from tests.analysis.test_verdict import VERDICT

SECONDS = 0.15
FLOAT = np.random.Generator


def estimate(log_ratio: float) -> ReplicateEstimate:
    return ReplicateEstimate(log_ratio, log_ratio, 0.001, 1e-6, 1e-6 * float(np.exp(log_ratio)), 100)


def noise(kind: str, generator: FLOAT, step: int) -> float:
    if kind == "heavy tails":
        return float(generator.standard_t(2.0)) * 0.001
    if kind == "two states":
        return float(generator.normal(0.0, 0.0005) + generator.choice([-0.002, 0.002]))
    return float(generator.normal(0.0, 0.001) + 0.0005 * np.sin(step / 3.0))


def run_suite(changes: list[float], kind: str, seed: int, budget: float) -> list[str | None]:
    generator = np.random.default_rng(seed)
    judge = SuiteJudge(len(changes), Criteria(margin=0.01), seconds_per_replicate=SECONDS)
    spent, step = 0.0, 0
    while (index := judge.next(budget - spent)) is not None:
        judge.add(index, estimate(changes[index] + noise(kind, generator, step)), SECONDS)
        spent += SECONDS
        step += 1
    return [None if verdict is None else verdict.verdict for verdict in judge.verdicts()]


@pytest.mark.parametrize("kind", ["heavy tails", "two states", "drifting"])
def test_changes_are_found_and_nothing_else(kind: str) -> None:
    changes = [0.0, 0.05, 0.0, 0.0, -0.05, 0.0]
    wrong = found = 0
    for seed in range(3):
        words = run_suite(changes, kind, seed, budget=60.0)
        wrong += sum(word in ("slower", "faster") for word, change in zip(words, changes, strict=True) if not change)
        found += (words[1] == "slower") + (words[4] == "faster")
    assert wrong == 0
    assert found == 6


def replicates_for(question: Question, change: float, scatter: float, seed: int = 1) -> tuple[int, Verdict]:
    """Return how many replicates the question takes, and the verdict then."""
    generator = np.random.default_rng(seed)
    judge = SuiteJudge(1, questions=[question], seconds_per_replicate=SECONDS)
    while judge.next(SECONDS * (400 - len(judge.estimates(0)))) is not None:
        judge.add(0, estimate(change + float(generator.normal(0.0, scatter))), SECONDS)
    [verdict] = judge.verdicts()
    assert verdict is not None
    return len(judge.estimates(0)), verdict


@pytest.mark.lengthy
@pytest.mark.parametrize("scatter", [0.005, 0.02])
def test_whether_a_slowdown_is_allowed_takes_far_fewer_replicates_than_a_verdict(scatter: float) -> None:
    for change, exceeds in ((0.0, False), (0.03, False), (0.08, True)):
        asked, verdict = replicates_for(Question(0.003, allowed=0.05), change, scatter)
        assert verdict.exceeds(0.05) is exceeds
        assert FEWEST_REPLICATES <= asked <= 20
    whole, verdict = replicates_for(Question(0.003), 0.0, scatter)
    assert verdict.verdict == "same"
    assert whole >= 3 * replicates_for(Question(0.003, allowed=0.05), 0.0, scatter)[0]


@pytest.mark.lengthy
def test_a_change_at_what_is_allowed_is_measured_to_the_end() -> None:
    count, verdict = replicates_for(Question(0.003, allowed=0.05), float(np.log(1.05)), 0.02, seed=3)
    assert count == 400
    assert verdict.exceeds(0.05) is None


def test_a_verdict_that_is_not_final_is_measured_further() -> None:
    judge = SuiteJudge(1, Criteria(margin=0.003), seconds_per_replicate=SECONDS)
    for log_ratio in (0.01, -0.01, 0.01, -0.01):
        judge.add(0, estimate(log_ratio), SECONDS)
    [verdict] = judge.verdicts()
    assert verdict is not None
    assert verdict.words == "same within 3 %"
    assert judge.next(100.0) == 0


def test_everyone_is_begun_before_anyone_is_preferred() -> None:
    judge = SuiteJudge(3, seconds_per_replicate=SECONDS)
    begun = []
    for _ in range(3):
        index = judge.next(100.0)
        assert index is not None
        begun.append(index)
        judge.add(index, estimate(0.0), SECONDS)
    assert begun == [0, 1, 2]


def test_one_that_cannot_be_decided_does_not_get_what_others_have_left() -> None:
    judge = SuiteJudge(1, seconds_per_replicate=SECONDS, most_seconds_each=9.5 * SECONDS)
    generator = np.random.default_rng(0)
    while (index := judge.next(1e6)) is not None:
        judge.add(index, estimate(float(generator.normal(0.0, 0.1))), SECONDS)
    assert len(judge.estimates(0)) == 10


def test_nothing_is_next_when_time_is_up_or_all_is_given_up() -> None:
    judge = SuiteJudge(2, seconds_per_replicate=SECONDS)
    assert judge.next(SECONDS / 2) is None
    judge.give_up(0)
    assert judge.next(100.0) == 1
    judge.give_up(1)
    assert judge.next(100.0) is None
    assert judge.verdicts() == (None, None)


def test_a_large_suite_asks_for_more_evidence() -> None:
    def replicates_until_slower(benchmarks: int, elsewhere: int = 0) -> int:
        judge = SuiteJudge(benchmarks, seconds_per_replicate=SECONDS, elsewhere=elsewhere)
        generator = np.random.default_rng(3)
        for count in range(1, 60):
            if judge.add(0, estimate(0.006 + float(generator.normal(0.0, 0.002))), SECONDS).verdict == "slower":
                return count
        return 60

    assert replicates_until_slower(1) < replicates_until_slower(2000)
    # A share of a suite of 2000, of which other nodes of a cluster judge the rest.
    assert replicates_until_slower(2000) == replicates_until_slower(1, elsewhere=1999)


def test_a_share_calls_what_stands_in_the_whole_suite_and_no_more() -> None:
    generator = np.random.default_rng(5)
    changes = [0.0, 0.0, 0.0, 0.003, 0.006, 0.05]
    samples = [[change + float(generator.normal(0.0, 0.002)) for _ in range(6)] for change in changes]

    def changed(places: list[int], elsewhere: int) -> set[int]:
        judge = SuiteJudge(len(places), seconds_per_replicate=SECONDS, elsewhere=elsewhere)
        for index, place in enumerate(places):
            for sample in samples[place]:
                judge.add(index, estimate(sample), SECONDS)
        verdicts = judge.verdicts()
        return {place for place, each in zip(places, verdicts, strict=True) if each and each.verdict == "slower"}

    found = set().union(*(changed([start, start + 3], elsewhere=4) for start in range(3)))
    assert 5 in found
    assert found <= changed(list(range(6)), elsewhere=0)


def test_one_replicate_alone_decides_nothing() -> None:
    judge = SuiteJudge(1, seconds_per_replicate=SECONDS)
    for _ in range(FEWEST_REPLICATES - 1):
        assert judge.add(0, estimate(3.0), SECONDS).verdict == "undecided"
        assert judge.next(100.0) == 0
    (open_one,) = judge.verdicts()
    assert open_one is not None
    assert open_one.verdict == "undecided"
    assert "too few" in open_one.reason
    assert judge.add(0, estimate(3.0), SECONDS).verdict == "slower"
    assert judge.next(100.0) is None


OPEN = replace(VERDICT, verdict="undecided", log_evidence=1.0, replicates=10)
NEEDED = math.log(400.0)


def progress(verdict: Verdict | None, seconds: float = 0.25) -> Progress:
    return Progress(verdict, seconds_per_replicate=seconds, log_evidence_needed=NEEDED)


def test_decided_benchmarks_get_nothing() -> None:
    assert order_by_need([progress(VERDICT), progress(replace(VERDICT, verdict="same"))]) == ()
    assert order_by_need([]) == ()


def test_first_replicates_come_first_and_in_turn() -> None:
    begun = replace(OPEN, replicates=FIRST_REPLICATES - 1)
    assert order_by_need([progress(OPEN), progress(begun), progress(None), progress(VERDICT)]) == (2, 1, 0)


def test_the_nearest_to_a_decision_is_next() -> None:
    near_change = progress(replace(OPEN, log_evidence=5.0))
    far_change = progress(replace(OPEN, log_evidence=0.2))
    near_same = progress(replace(OPEN, ratio=1.0, interval=(0.9965, 1.0035), log_evidence=-2.0))
    assert order_by_need([far_change, near_change, near_same])[-1] == 0
    assert seconds_to_decision(near_change) < seconds_to_decision(far_change)
    assert seconds_to_decision(near_same) < seconds_to_decision(far_change)


def test_expensive_replicates_count() -> None:
    cheap, dear = progress(OPEN, 0.25), progress(OPEN, 2.5)
    assert order_by_need([dear, cheap]) == (1, 0)


def test_hopeless_ones_wait_but_do_not_starve() -> None:
    hopeless = replace(OPEN, log_evidence=-3.0, ratio=1.0, interval=(0.8, 1.25))
    assert order_by_need([progress(hopeless), progress(replace(OPEN, log_evidence=3.0))], seconds_left=20.0) == (1, 0)
    crowd = [progress(replace(OPEN, replicates=40)) for _ in range(3)]
    assert order_by_need([*crowd, progress(hopeless)])[0] == 3


def test_a_replicate_that_does_not_fit_is_not_started() -> None:
    assert order_by_need([progress(OPEN, 3.0), progress(OPEN, 0.2)], seconds_left=1.0) == (1,)


def test_an_even_chance_at_both_margins_is_still_ordered() -> None:
    edge = replace(OPEN, ratio=1.003, margin=0.003, log_evidence=-1.0, interval=(0.0, math.inf))
    assert seconds_to_decision(progress(edge)) == math.inf
    assert order_by_need([progress(edge), progress(None)]) == (1, 0)
