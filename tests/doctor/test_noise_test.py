"""The noise test on a clock that is told how long each block takes."""

from __future__ import annotations

import pytest

from photometer.doctor.noise_test import NoiseTest, Visit, Work, take_noise_test
from photometer.session.cores import allowed_cores


class SlowWorld:
    """A clock and work that takes 1 ms, and `factor` times as long from `since` on."""

    def __init__(self, since: float = 1e9, factor: float = 1.0) -> None:
        self.now = 0.0
        self._since, self._factor = since, factor

    def clock(self) -> float:
        self.now += 1e-7
        return self.now

    def work(self) -> None:
        self.now += 0.001 * (self._factor if self.now > self._since else 1.0)

    def test(self, seconds: float = 4.0) -> NoiseTest:
        blocks = {work: self.work for work in Work}
        return take_noise_test(allowed_cores()[:2], seconds, blocks=blocks, clock=self.clock)


def test_a_steady_machine_has_one_state() -> None:
    noise = SlowWorld().test()
    for work in Work:
        assert noise.best_share(work) == 1.0
        assert noise.interrupted_share(work) == 0.0
        assert len(noise.states(work)) == 1
    assert noise.cores == tuple(allowed_cores()[:2])


def test_a_machine_that_becomes_slower_has_two_states() -> None:
    noise = SlowWorld(since=3.0, factor=1.2).test()
    first, second = noise.states(Work.COMPUTING)
    assert first.slowdown == pytest.approx(1.0, abs=0.01)
    assert second.slowdown == pytest.approx(1.2, abs=0.01)
    assert second.share == pytest.approx(0.25, abs=0.05)


def test_blocks_that_take_longer_than_their_visit_are_interrupted() -> None:
    world = SlowWorld()
    runs = iter(range(10**9))

    def often_interrupted() -> None:
        world.now += 0.003 if next(runs) % 5 == 0 else 0.001

    noise = take_noise_test((), 1.0, blocks={Work.MEMORY: often_interrupted}, clock=world.clock)
    assert noise.interrupted_share(Work.MEMORY) == pytest.approx(0.2, abs=0.05)
    assert noise.best_share(Work.MEMORY) == 1.0


def test_states_are_merged_within_a_few_per_cent() -> None:
    levels = (1.0, 1.01, 1.02, 1.5, 1.52)
    noise = NoiseTest(1.0, tuple(Visit(0.0, 0, Work.COMPUTING, level, 0.0) for level in levels))
    assert [round(state.share, 2) for state in noise.states(Work.COMPUTING)] == [0.6, 0.4]
