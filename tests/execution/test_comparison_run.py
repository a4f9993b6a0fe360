"""The loop on fake replicates: budget, resuming, failures, retries, and every replicate kept before it is judged."""

from __future__ import annotations

import random

import pytest

from photometer.analysis.suite_judge import SuiteJudge
from photometer.definition.timer_args import TimerArgs
from photometer.errors import PhotometerError, SnippetError, WorkerCrashed
from photometer.execution.comparison_run import PairedOrder, run_comparison
from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.plan import materialize

SECONDS = 0.15


def pairs(count: int) -> list[PairedOrder]:
    plan = materialize({f"b{i}": TimerArgs(f"{i}") for i in range(count)})
    return [PairedOrder(order, {"side": "base"}, {"side": "branch"}) for order in plan]


class FakeSides:
    """Replicates of 40 pairs of blocks, 0.1 % apart from replicate to replicate; `changes` is by order id."""

    def __init__(self, changes: dict[str, float], seed: int = 0) -> None:
        self.changes = changes
        self.chance = random.Random(seed)
        self.taken: list[str] = []
        self.turns: list[int] = []

    def __call__(self, pair: PairedOrder, turn: int) -> ComparisonReplicate:
        self.taken.append(pair.order.id)
        self.turns.append(turn)
        change = self.changes.get(pair.order.id, 0.0) + self.chance.gauss(0.0, 0.001)
        base = [1e-6 * (1.0 + abs(self.chance.gauss(0.0, 0.002))) for _ in range(40)]
        branch = [1e-6 * (1.0 + change) * (1.0 + abs(self.chance.gauss(0.0, 0.002))) for _ in range(40)]
        return ComparisonReplicate.from_seconds(
            pair.order.id, 500, base, branch, measuring_seconds=SECONDS, whole_seconds=0.2
        )


def judge(count: int) -> SuiteJudge:
    return SuiteJudge(count, seconds_per_replicate=SECONDS)


def test_changes_are_found_and_the_rest_is_same() -> None:
    suite = pairs(4)
    watcher = judge(4)
    sides = FakeSides({suite[1].order.id: 0.05, suite[2].order.id: -0.05})
    failed = run_comparison(suite, sides, watcher, budget_seconds=100.0)
    words = [verdict.verdict for verdict in watcher.verdicts() if verdict is not None]
    assert not failed
    assert words == ["same", "slower", "faster", "same"]
    # Gross changes are called at once; what is the same takes longer to show.
    assert sides.taken.count(suite[1].order.id) < sides.taken.count(suite[0].order.id)


def test_turns_count_each_benchmark_by_itself() -> None:
    suite = pairs(2)
    sides = FakeSides({})
    run_comparison(suite, sides, judge(2), budget_seconds=6 * SECONDS)
    assert list(zip(sides.taken, sides.turns, strict=True)) == [
        (suite[i % 2].order.id, i // 2) for i in range(len(sides.taken))
    ]


def test_the_budget_is_kept() -> None:
    suite = pairs(3)
    watcher = judge(3)
    sides = FakeSides({})
    run_comparison(suite, sides, watcher, budget_seconds=1.0)
    assert len(sides.taken) == int(1.0 / SECONDS)
    assert all(verdict is not None and verdict.verdict == "undecided" for verdict in watcher.verdicts())


def test_a_benchmark_that_is_never_reached_has_no_verdict() -> None:
    watcher = judge(3)
    run_comparison(pairs(3), FakeSides({}), watcher, budget_seconds=2.5 * SECONDS)
    assert [verdict is None for verdict in watcher.verdicts()] == [False, False, True]


def test_a_resumed_run_ends_like_one_that_was_not_stopped() -> None:
    suite = pairs(3)
    whole: list[ComparisonReplicate] = []
    uninterrupted = judge(3)
    run_comparison(suite, FakeSides({suite[0].order.id: 0.02}), uninterrupted, budget_seconds=50.0, keep=whole.append)

    resumed, sides = judge(3), FakeSides({})
    rest = iter(whole[7:])
    run_comparison(suite, lambda pair, turn: next(rest), resumed, budget_seconds=50.0, known=whole[:7])
    assert resumed.verdicts() == uninterrupted.verdicts()

    # All of it known, and replicates of a benchmark that is no longer selected: nothing is left to do.
    foreign = ComparisonReplicate("elsewhere", 1, (1,) * 9, (1,) * 9, 1.0, 1.0)
    finished = judge(3)
    run_comparison(suite, sides, finished, budget_seconds=50.0, known=[*whole, foreign])
    assert sides.taken == []
    assert finished.verdicts() == uninterrupted.verdicts()


def test_what_was_kept_before_an_interruption_is_there() -> None:
    suite = pairs(1)
    kept: list[ComparisonReplicate] = []
    sides = FakeSides({})

    def take(pair: PairedOrder, turn: int) -> ComparisonReplicate:
        if turn == 3:
            raise KeyboardInterrupt
        return sides(pair, turn)

    with pytest.raises(KeyboardInterrupt):
        run_comparison(suite, take, judge(1), budget_seconds=50.0, keep=kept.append)
    assert len(kept) == 3


def test_a_failing_benchmark_does_not_stop_the_others() -> None:
    suite = pairs(2)
    watcher = judge(2)
    sides = FakeSides({})

    def take(pair: PairedOrder, turn: int) -> ComparisonReplicate:
        if pair is suite[0]:
            raise SnippetError("ValueError: no", exception_type="ValueError")
        return sides(pair, turn)

    failed = run_comparison(suite, take, watcher, budget_seconds=50.0)
    assert {index: str(error) for index, error in failed.items()} == {0: "ValueError: no"}
    first, second = watcher.verdicts()
    assert first is None
    assert second is not None
    assert second.verdict == "same"


@pytest.mark.parametrize(("error", "survives"), [(WorkerCrashed("killed"), True), (SnippetError("raised"), False)])
def test_only_crashes_are_tried_again(error: PhotometerError, survives: bool) -> None:
    suite = pairs(1)
    sides = FakeSides({})
    errors = [error]

    def take(pair: PairedOrder, turn: int) -> ComparisonReplicate:
        if errors:
            raise errors.pop()
        return sides(pair, turn)

    failed = run_comparison(suite, take, judge(1), budget_seconds=50.0)
    assert bool(failed) is not survives


def test_the_observer_is_told_the_time_spent() -> None:
    told: list[float] = []
    run_comparison(
        pairs(1),
        FakeSides({}),
        judge(1),
        budget_seconds=3.5 * SECONDS,
        on_replicate=lambda index, verdict, spent: told.append(spent),
    )
    assert told == pytest.approx([SECONDS, 2 * SECONDS, 3 * SECONDS])
