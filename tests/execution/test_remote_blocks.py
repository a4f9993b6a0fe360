from __future__ import annotations

import time
from typing import Any

import pytest

from photometer.errors import WorkerTimeout
from photometer.execution.remote_blocks import FETCH_SECONDS, RemoteBlocks
from photometer.instruments.stopping import RunFor
from photometer.instruments.wall_time import take_blocks


class FakeChild:
    """A statement of a microsecond; every tenth block is preempted and takes longer."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []
        self.killed = False
        self._blocks = 0

    def ask(self, verb: str, timeout_seconds: float, *, number: int, blocks: int) -> dict[str, Any]:
        assert verb == "time"
        self.asked.append((number, blocks))
        times, preemptions = [], []
        for _ in range(blocks):
            self._blocks += 1
            preempted = self._blocks % 10 == 0
            times.append(number * 1e-6 + (0.004 if preempted else 0.0))
            preemptions.append(int(preempted))
        return {
            "block_seconds": times,
            "block_preemptions": preemptions,
            "wall_seconds": sum(times),
            "cpu_seconds": sum(times) / 2,
        }

    def kill(self) -> None:
        self.killed = True


def test_blocks_are_fetched_several_at_a_time_and_preempted_ones_set_aside() -> None:
    child = FakeChild()
    blocks = RemoteBlocks(child, 60.0)  # type: ignore[arg-type]
    taken = take_blocks(blocks.time_block, RunFor(0.2), clock=time.perf_counter, min_run_time=0.2, watch=blocks)
    assert max(asked for _, asked in child.asked) > 1
    assert all(number * 1e-6 * asked <= 2 * FETCH_SECONDS for number, asked in child.asked if asked > 1)
    assert set(taken.block_seconds) == {taken.number_per_run * 1e-6}
    assert taken.conditions.preempted_blocks
    assert taken.conditions.preemptions
    assert taken.conditions.cpu_seconds == pytest.approx(taken.conditions.wall_seconds / 2)  # type: ignore[operator]
    assert taken.conditions.loop_overhead_seconds_per_run is None


def test_a_measurement_that_does_not_end_is_given_up() -> None:
    child = FakeChild()
    with pytest.raises(WorkerTimeout, match="--timeout"):
        RemoteBlocks(child, 0.0).time_block(1)  # type: ignore[arg-type]
    assert child.killed
