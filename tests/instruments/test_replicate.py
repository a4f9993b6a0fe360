"""Blocks in turn: how long they are, who goes first, and what a replicate asks of its sessions."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest

from photometer.instruments.replicate import (
    BLOCK_SECONDS,
    FEWEST_ROUNDS,
    WARMUP_BLOCKS,
    Side,
    alternate,
    take_replicate,
)
from photometer.session.session import ServerKind
from photometer.worker.messages import Prepare
from tests.session.fake_session import Behaviour, FakeServers


class FakeBlock:
    """Runs a statement of a known time; `spikes` says at which call an interruption of 5 ms comes."""

    def __init__(self, seconds_per_run: float, spikes: tuple[int, ...] = ()) -> None:
        self.seconds_per_run = seconds_per_run
        self.spikes = spikes
        self.calls = 0
        self.runs = 0

    def __call__(self, number: int) -> float:
        self.calls += 1
        self.runs += number
        return number * self.seconds_per_run + (5e-3 if self.calls in self.spikes else 0.0)


def numbers(*blocks: FakeBlock) -> tuple[int, ...]:
    return alternate(blocks, seconds=0.0, order=random.Random(0)).runs_per_block


@pytest.mark.parametrize("seconds_per_run", [50e-9, 1e-6, 30e-6, 2e-3, 1.0])
def test_like_sides_have_one_number_that_fills_a_block(seconds_per_run: float) -> None:
    base, branch = numbers(FakeBlock(seconds_per_run), FakeBlock(1.2 * seconds_per_run))
    assert base == branch
    assert base == 1 or 0.5 * BLOCK_SECONDS < base * seconds_per_run < 2 * BLOCK_SECONDS


def test_unlike_sides_fill_a_block_each() -> None:
    fast, slow = numbers(FakeBlock(80e-9), FakeBlock(3e-6))
    assert fast * 80e-9 == pytest.approx(BLOCK_SECONDS, rel=0.01)
    assert slow * 3e-6 == pytest.approx(BLOCK_SECONDS, rel=0.01)


@pytest.mark.parametrize("at", range(1, 16))
def test_one_interruption_does_not_make_like_sides_unlike(at: int) -> None:
    base, branch = numbers(FakeBlock(1e-6, spikes=(at,)), FakeBlock(1e-6))
    assert base == branch
    assert base * 1e-6 == pytest.approx(BLOCK_SECONDS, rel=0.05)


def test_a_slow_statement_runs_no_more_often_than_it_must() -> None:
    block = FakeBlock(3.0)
    alternate([block], seconds=0.0, order=random.Random(0))
    assert block.runs == 1 + FEWEST_ROUNDS


def test_every_side_has_a_block_in_every_round_and_no_side_always_goes_first() -> None:
    calls: list[str] = []

    def block(name: str) -> FakeBlock:
        class Named(FakeBlock):
            def __call__(self, number: int) -> float:
                calls.append(name)
                return super().__call__(number)

        return Named(1e-6)

    taken = alternate([block("a"), block("b"), block("c")], seconds=0.05, order=random.Random(0))
    assert len({len(side) for side in taken.seconds_per_run}) == 1
    rounds = calls[-3 * len(taken.seconds_per_run[0]) :]
    firsts = {rounds[i] for i in range(0, len(rounds), 3)}
    assert all(sorted(rounds[i : i + 3]) == ["a", "b", "c"] for i in range(0, len(rounds), 3))
    assert firsts == {"a", "b", "c"}


def test_a_replicate_forks_every_side_afresh_and_closes_it() -> None:
    servers = FakeServers({"fake": {"slow": Behaviour(2e-6)}})
    with servers.session() as session:
        sides = [Side(session, Prepare(stmt)) for stmt in ("fast", "slow")]
        for _ in range(2):
            taken = take_replicate(sides, kind=ServerKind(lane=1), core=None, order=random.Random(0), seconds=0.01)
            fast, slow = (min(side) for side in taken.seconds_per_run)
            assert slow / fast == pytest.approx(2.0, rel=0.02)
        # Two servers at a time, used again for the next replicate.
        assert [server.forks for server in servers.made] == [2, 2]


def seeds_of(*setups: str) -> list[int]:
    """Return the seeds of the layouts that sides with these set-ups have in one replicate."""
    servers = FakeServers()
    with servers.session() as session:
        sides = [Side(session, Prepare(f"statement {place}", setup)) for place, setup in enumerate(setups)]
        take_replicate(sides, kind=ServerKind(), core=None, order=random.Random(1), seconds=0.01)
        asked = [each for server in servers.made for each in server.log if isinstance(each, Prepare)]
    return [each.layout_seed for each in sorted(asked, key=lambda each: each.stmt)]


def test_sides_with_one_set_up_lie_alike_and_others_elsewhere() -> None:
    first, second, other = seeds_of("x = 1", "x = 1", "x = 2")
    assert 0 < first == second != other > 0


def test_several_threads_get_as_many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    pinned: list[tuple[int, ...]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, cores: pinned.append(tuple(cores)) if pid else None)
    servers = FakeServers()
    with servers.session() as session:
        sides = [Side(session, Prepare("x", num_threads=2))] * 2
        take_replicate(sides, kind=ServerKind(), core=1, order=random.Random(0), seconds=0.0)
    assert set(pinned) == {(1, 2)}


def test_blocks_of_several_threads_are_longer() -> None:
    """Longer than the other side's threads spin for."""
    runs = []
    for threads in (1, 2):
        with FakeServers({"fake": {"x": Behaviour(1e-5)}}).session() as session:
            sides = [Side(session, Prepare("x", num_threads=threads))] * 2
            taken = take_replicate(sides, kind=ServerKind(), core=None, order=random.Random(0), seconds=0.0)
        runs.append(max(taken.runs_per_block))
    assert runs[1] > 2 * runs[0]


def test_blocks_alternate_and_share_the_time() -> None:
    """On a fake clock: one statement takes 1 ms per run, the other 3 ms."""
    now = 0.0
    sequence: list[str] = []

    def clock() -> float:
        nonlocal now
        now += 1e-7
        return now

    def statement(name: str, seconds: float) -> Callable[[int], float]:
        def time_block(number: int) -> float:
            nonlocal now
            sequence.append(name)
            now += number * seconds
            return number * seconds

        return time_block

    sides = [statement("a", 1e-3), statement("b", 3e-3)]
    first, second = alternate(sides, seconds=0.4, clock=clock, order=random.Random(0)).seconds_per_run
    assert len(first) == len(second) == 100
    assert first == pytest.approx([1e-3] * len(first))
    assert second == pytest.approx([3e-3] * len(second))
    pairs = sequence[-2 * len(first) :]
    assert all({pairs[i], pairs[i + 1]} == {"a", "b"} for i in range(0, len(pairs), 2))
    assert len({tuple(pairs[i : i + 2]) for i in range(0, len(pairs), 2)}) == 2


def test_sizes_of_an_earlier_replicate_are_used_again_while_they_fit() -> None:
    sides = [FakeBlock(1e-6), FakeBlock(1.1e-6)]
    first = alternate(sides, seconds=0.0, order=random.Random(0))
    assert first.sizes_to_use_again() == first.runs_per_block
    runs = sides[0].runs
    again = alternate(sides, seconds=0.0, order=random.Random(0), runs_per_block=first.sizes_to_use_again())
    assert again.runs_per_block == first.runs_per_block
    assert sides[0].runs - runs == (WARMUP_BLOCKS + FEWEST_ROUNDS) * first.runs_per_block[0]
    drifted = alternate([FakeBlock(5e-6)] * 2, seconds=0.0, order=random.Random(0), runs_per_block=again.runs_per_block)
    assert drifted.sizes_to_use_again() == ()


def test_sizes_that_a_disturbance_made_unequal_are_not_used_again() -> None:
    """Sides that are alike have blocks of one size: a shorter block of one of them is a bias."""
    sides = [FakeBlock(1e-6), FakeBlock(1e-6)]
    disturbed = alternate(sides, seconds=0.0, order=random.Random(0), runs_per_block=(500, 300))
    assert disturbed.sizes_to_use_again() == ()
    unlike = alternate([FakeBlock(1e-6), FakeBlock(1e-5)], seconds=0.0, order=random.Random(0))
    assert unlike.sizes_to_use_again() == unlike.runs_per_block
