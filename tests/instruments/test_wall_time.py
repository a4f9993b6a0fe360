"""Warm-up, block size and the measuring loop, on a fake clock."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest

from photometer.instruments.stopping import Precise, RunFor, SpreadBelow
from photometer.instruments.wall_time import Beforehand, empty_loop_seconds, runs_per_block, take_blocks, warm_up
from tests.instruments.fake_block import FakeBlock, FakeWatch


def test_warm_up_goes_on_while_runs_get_faster() -> None:
    slow_at_first = FakeBlock(lambda run: 1e-3 / (1 + run) + 1e-6)
    warm = warm_up(slow_at_first, budget_seconds=10.0)
    steady = warm_up(FakeBlock(lambda run: 1e-6), budget_seconds=10.0)
    assert warm.settled
    assert steady.settled
    assert warm.runs > 10 * steady.runs
    assert warm.seconds_per_run == pytest.approx(1e-6, rel=0.5)


def test_warm_up_survives_one_slow_first_run() -> None:
    first_compiles = FakeBlock(lambda run: 16.0 if run == 0 else 1e-3)
    warm = warm_up(first_compiles, budget_seconds=0.05)
    assert warm.seconds_per_run == pytest.approx(1e-3)


def test_warm_up_keeps_to_its_budget() -> None:
    block = FakeBlock(lambda run: 1.0 / (1 + run) ** 0.5)
    warm = warm_up(block, budget_seconds=5.0)
    assert not warm.settled or block.now < 30
    counted = FakeBlock(lambda run: 1.0)
    warm_up(counted, budget_seconds=100.0, most_runs=2)
    assert counted.runs == 2


@pytest.mark.parametrize(
    ("seconds_per_run", "block", "cost", "step", "expected"),
    [
        (1e-6, 1e-3, 0.0, 0.0, 1000),  # as long as asked
        (1e-6, 1e-3, 1e-5, 0.0, 10_000),  # the clock's cost below a thousandth
        (1e-6, 1e-3, 0.0, 1e-4, 100_000),  # a thousand steps of a coarse clock
        (5.0, 1e-3, 0.0, 0.0, 1),  # a long statement is run once
    ],
)
def test_block_is_long_enough(seconds_per_run: float, block: float, cost: float, step: float, expected: int) -> None:
    assert runs_per_block(seconds_per_run, block, cost, step) == pytest.approx(expected, abs=1)


def test_runs_for_the_time_asked() -> None:
    block = FakeBlock(lambda run: 1e-5)
    taken = take_blocks(block, RunFor(0.5), clock=block.clock, watch=FakeWatch(), min_run_time=0.5)
    assert 0.5 <= sum(taken.block_seconds) < 0.54
    assert taken.conditions.stopped_because == "ran for 0.5 s"
    assert taken.conditions.warmed_up
    assert all(s == pytest.approx(1e-5 * taken.number_per_run) for s in taken.block_seconds)


def _noisy(noise: float, chance: random.Random) -> Callable[[int], float]:
    return lambda run: 1e-3 * chance.lognormvariate(0, noise)


def test_precision_takes_longer_on_a_noisier_machine_and_reaches_it() -> None:
    counts = {}
    for noise in (0.02, 0.2):
        block = FakeBlock(_noisy(noise, random.Random(1)))
        taken = take_blocks(block, Precise(0.01, 0.01, 1000.0), clock=block.clock, watch=FakeWatch(), min_run_time=0.02)
        counts[noise] = len(taken.block_seconds)
        assert "interval" in (taken.conditions.stopped_because or "")
    assert counts[0.2] > 3 * counts[0.02]


def test_precision_gives_up_after_its_time() -> None:
    chance = random.Random(1)
    block = FakeBlock(lambda run: 1e-3 * chance.lognormvariate(0, 2))
    taken = take_blocks(block, Precise(1e-6, 0.01, 2.0), clock=block.clock, watch=FakeWatch(), min_run_time=0.02)
    assert taken.conditions.stopped_because == "max_run_time of 2 s is used up"


def test_spread_rule_stops_early_on_a_quiet_machine() -> None:
    block = FakeBlock(lambda run: 1e-4)
    taken = take_blocks(block, SpreadBelow(0.1, 0.01, 10.0), clock=block.clock, watch=FakeWatch(), min_run_time=0.05)
    assert sum(taken.block_seconds) < 0.1


def test_callback_sees_every_block() -> None:
    seen: list[tuple[int, float]] = []
    block = FakeBlock(lambda run: 1e-4)
    taken = take_blocks(
        block,
        RunFor(0.1),
        clock=block.clock,
        watch=FakeWatch(),
        min_run_time=0.1,
        callback=lambda n, s: seen.append((n, s)),
    )
    assert seen == [(taken.number_per_run, s) for s in taken.block_seconds]


def test_empty_loop_is_known() -> None:
    assert 0 < empty_loop_seconds() < 1e-5


def test_preempted_blocks_are_set_aside_and_counted() -> None:
    block = FakeBlock(lambda run: 1e-4)
    every_fifth = itertools.cycle([False] * 4 + [True])
    taken = take_blocks(block, RunFor(0.1), clock=block.clock, watch=FakeWatch(every_fifth), min_run_time=0.1)
    kept, aside = len(taken.block_seconds), taken.conditions.preempted_blocks
    assert aside
    assert kept == pytest.approx(4 * aside, rel=0.1)


def test_where_nearly_all_are_preempted_all_are_kept() -> None:
    block = FakeBlock(lambda run: 1e-2)
    taken = take_blocks(
        block, RunFor(1.0), clock=block.clock, watch=FakeWatch(itertools.repeat(True)), min_run_time=1.0
    )
    assert taken.conditions.preempted_blocks == 0
    assert sum(taken.block_seconds) >= 1.0


@pytest.mark.parametrize(("later", "runs"), [(3.0, 1), (1e-5, None)])
def test_a_slow_statement_is_not_run_again_to_warm_it_up(later: float, runs: int | None) -> None:
    """A first run of 3 s may be compilation: the second run tells, and is the sample if it is slow too."""
    block = FakeBlock(lambda run: later)
    known = Beforehand(3.0)
    taken = take_blocks(block, RunFor(0.2), clock=block.clock, watch=FakeWatch(), min_run_time=0.2, known=known)
    if runs is None:
        assert taken.number_per_run > 1
        assert len(taken.block_seconds) > 10
    else:
        assert block.runs == runs
        assert taken.block_seconds == [3.0]


def test_a_disturbed_warm_up_does_not_make_blocks_short() -> None:
    class Disturbed(FakeBlock):
        calls = 0

        def __call__(self, number: int) -> float:
            self.calls += 1
            return super().__call__(number)

    block = Disturbed(lambda run: 1e-2 if block.calls <= 2 else 1e-6)
    known = Beforehand(block_seconds=5e-4)
    taken = take_blocks(block, RunFor(0.02), clock=block.clock, watch=FakeWatch(), min_run_time=0.02, known=known)
    assert taken.number_per_run in (500, 501)
