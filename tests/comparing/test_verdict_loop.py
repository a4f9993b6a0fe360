"""The one loop, on fake samples: budget, resuming, failures, retries, several sides."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from photometer.analysis.judge import Criteria
from photometer.analysis.suite_judge import SuiteJudge
from photometer.analysis.verdict import Verdict
from photometer.comparing.fork_sampler import estimated
from photometer.comparing.verdict_loop import NoGate, Sample, run_to_verdicts, verdict_of_one
from photometer.errors import DefinitionError, PhotometerError, SnippetError, WorkerCrashed
from photometer.stats.replicate import FEWEST_REPLICATES

SECONDS = 0.15


class FakeSampler:
    """Replicates of 40 rounds, 0.1 % apart from replicate to replicate; `changes` of each other side, by benchmark."""

    def __init__(self, changes: dict[int, tuple[float, ...]] | None = None, *, others: int = 1, seed: int = 0) -> None:
        self.changes = changes or {}
        self.others = others
        self.chance = random.Random(seed)
        self.taken: list[tuple[int, int]] = []
        self.samples: list[Sample] = []

    def sample(self, benchmark: int, turn: int) -> Sample:
        self.taken.append((benchmark, turn))
        sides = [self._side(0.0)]
        sides += [self._side(change) for change in self.changes.get(benchmark, (0.0,) * self.others)]
        self.samples.append(estimated(benchmark, sides, SECONDS))
        return self.samples[-1]

    def _side(self, change: float) -> list[float]:
        change += self.chance.gauss(0.0, 0.0007)
        return [1e-6 * (1.0 + change) * (1.0 + abs(self.chance.gauss(0.0, 0.002))) for _ in range(40)]

    def count(self, benchmark: int) -> int:
        return sum(taken == benchmark for taken, _ in self.taken)


class Replaced:
    """A sampler made of a function."""

    def __init__(self, sample: Callable[[int, int], Sample]) -> None:
        self.sample = sample


def judge(count: int) -> SuiteJudge:
    return SuiteJudge(count, seconds_per_replicate=SECONDS)


def words(watcher: SuiteJudge) -> list[str | None]:
    return [None if verdict is None else verdict.verdict for verdict in watcher.verdicts()]


def test_changes_are_found_and_the_rest_is_same() -> None:
    watcher, sampler = judge(4), FakeSampler({1: (0.05,), 2: (-0.05,)})
    outcome = run_to_verdicts(4, sampler, watcher, budget_seconds=100.0)
    assert not outcome.failed
    assert words(watcher) == ["same", "slower", "faster", "same"]
    # Gross changes are called at once.
    assert sampler.count(1) <= 6
    assert outcome.measuring_seconds == pytest.approx(SECONDS * len(sampler.taken))


def test_several_sides_have_a_verdict_each() -> None:
    watcher, sampler = judge(4), FakeSampler({0: (0.05, 0.0), 1: (0.0, -0.05)}, others=2)
    run_to_verdicts(2, sampler, watcher, budget_seconds=100.0, others=2)
    assert words(watcher) == ["slower", "same", "same", "faster"]


def test_turns_count_each_benchmark_by_itself() -> None:
    sampler = FakeSampler()
    run_to_verdicts(2, sampler, judge(2), budget_seconds=6 * SECONDS)
    assert sampler.taken == [(i % 2, i // 2) for i in range(len(sampler.taken))]


def test_the_budget_is_kept() -> None:
    watcher, sampler = judge(3), FakeSampler()
    run_to_verdicts(3, sampler, watcher, budget_seconds=1.0)
    assert len(sampler.taken) == int(1.0 / SECONDS)
    assert words(watcher) == ["undecided"] * 3


def test_a_benchmark_that_is_never_reached_has_no_verdict() -> None:
    watcher = judge(3)
    run_to_verdicts(3, FakeSampler(), watcher, budget_seconds=2.5 * SECONDS)
    assert [verdict is None for verdict in watcher.verdicts()] == [False, False, True]


def test_a_resumed_run_ends_like_one_that_was_not_stopped() -> None:
    uninterrupted, whole = judge(3), FakeSampler({0: (0.02,)})
    run_to_verdicts(3, whole, uninterrupted, budget_seconds=50.0)

    resumed, rest = judge(3), iter(whole.samples[7:])
    run_to_verdicts(3, Replaced(lambda *_: next(rest)), resumed, budget_seconds=50.0, known=whole.samples[:7])
    assert resumed.verdicts() == uninterrupted.verdicts()

    finished, nothing = judge(3), FakeSampler()
    run_to_verdicts(3, nothing, finished, budget_seconds=50.0, known=whole.samples)
    assert nothing.taken == []
    assert finished.verdicts() == uninterrupted.verdicts()


def test_a_failing_benchmark_does_not_stop_the_others() -> None:
    watcher, sampler = judge(2), FakeSampler()

    def sample(benchmark: int, turn: int) -> Sample:
        if benchmark == 0:
            raise SnippetError("ValueError: no", exception_type="ValueError")
        return sampler.sample(benchmark, turn)

    outcome = run_to_verdicts(2, Replaced(sample), watcher, budget_seconds=50.0)
    assert {index: str(error) for index, error in outcome.failed.items()} == {0: "ValueError: no"}
    assert words(watcher) == [None, "same"]


@pytest.mark.parametrize(("error", "survives"), [(WorkerCrashed("killed"), True), (SnippetError("raised"), False)])
def test_only_crashes_are_tried_again(error: PhotometerError, survives: bool) -> None:
    sampler, errors = FakeSampler(), [error]

    def sample(benchmark: int, turn: int) -> Sample:
        if errors:
            raise errors.pop()
        return sampler.sample(benchmark, turn)

    outcome = run_to_verdicts(1, Replaced(sample), judge(1), budget_seconds=50.0, retries=lambda _: 1)
    assert bool(outcome.failed) is not survives


def test_the_time_spent_is_reported_with_each_verdict() -> None:
    spent: list[float] = []
    run_to_verdicts(
        1,
        FakeSampler(),
        judge(1),
        budget_seconds=3.5 * SECONDS,
        on_verdict=lambda _, __, seconds: spent.append(seconds),
    )
    assert spent == pytest.approx([SECONDS, 2 * SECONDS, 3 * SECONDS])


def test_one_comparison_rests_on_enough_replicates_and_reports_each() -> None:
    seen: list[Verdict] = []
    verdict = verdict_of_one(FakeSampler({0: (0.5,)}), Criteria(), budget=10.0, callback=seen.append)
    assert verdict.verdict == "slower"
    assert verdict.replicates == len(seen) == FEWEST_REPLICATES
    assert [each.verdict for each in seen[:-1]] == ["undecided"] * (FEWEST_REPLICATES - 1)


def test_one_comparison_raises_the_error_of_its_sides_and_wants_a_budget() -> None:
    def sample(benchmark: int, turn: int) -> Sample:
        raise SnippetError("no")

    with pytest.raises(SnippetError):
        verdict_of_one(Replaced(sample), Criteria(), budget=1.0)
    with pytest.raises(DefinitionError, match="budget"):
        verdict_of_one(FakeSampler(), Criteria(), budget=float("nan"))


def test_what_is_settled_otherwise_adds_nothing_to_the_budget_of_the_rest() -> None:
    watcher, sampler = judge(2), FakeSampler({1: (0.003,)})

    class SettlesTheFirst(NoGate):
        def update(self) -> None:
            watcher.settle(0)

    run_to_verdicts(2, sampler, watcher, budget_seconds=lambda timed: 3.5 * SECONDS * timed, gate=SettlesTheFirst())
    assert [benchmark for benchmark, _ in sampler.taken] == [1, 1, 1]


def test_what_was_held_until_counting_ended_is_sampled_then() -> None:
    watcher, sampler = judge(2), FakeSampler()

    class HoldsTheSecond(NoGate):
        """Holds it until it is waited for; by then nothing more can come."""

        waited = False

        def held(self) -> frozenset[int]:
            return frozenset() if self.waited else frozenset({1})

        def wait(self) -> bool:
            self.waited = True
            return False

    run_to_verdicts(2, sampler, watcher, budget_seconds=100.0, gate=HoldsTheSecond())
    order = [benchmark for benchmark, _ in sampler.taken]
    assert order == sorted(order)
    assert set(order) == {0, 1}
