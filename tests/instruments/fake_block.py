"""A statement that exists only on a fake clock: each run takes what a function of its number says."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from photometer.instruments.wall_time import CoreWatch


class FakeBlock:
    """Stands for a loop's timeit. Time passes only when it runs."""

    def __init__(self, seconds_of_run: Callable[[int], float], clock_cost: float = 0.0) -> None:
        self.seconds_of_run = seconds_of_run
        self.clock_cost = clock_cost
        self.runs = 0
        self.now = 0.0

    def __call__(self, number: int) -> float:
        seconds = self.clock_cost
        for _ in range(number):
            seconds += self.seconds_of_run(self.runs)
            self.runs += 1
        self.now += seconds
        return seconds

    def clock(self) -> float:
        self.now += 1e-8
        return self.now


class FakeWatch(CoreWatch):
    """A machine on which another process takes the core when the pattern says so; never, by default."""

    def __init__(self, preempted: Iterator[bool] | None = None) -> None:
        super().__init__()
        self._pattern = preempted

    def was_preempted(self) -> bool:
        return next(self._pattern) if self._pattern is not None else False
