"""Blocks timed by a device, on one that is made of numbers: host and device have a clock each, and a queue between."""

from __future__ import annotations

import pytest

from photometer.worker.accelerators import Backend, TorchDevice
from photometer.worker.device_blocks import (
    ATTEMPTS,
    CALIBRATION_CYCLES,
    LONGEST_HOLD_SECONDS,
    RUNS_BEFORE,
    DeviceBlocks,
)

SPIN_SECONDS_PER_CYCLE = 1e-9


class FakeCuda:
    """A run takes the host `host_seconds` to queue and the device `kernel_seconds`; one that `waits` ends with it."""

    def __init__(self, kernel_seconds: float, host_seconds: float = 5e-6, *, waits: bool = False) -> None:
        self.kernel_seconds, self.host_seconds, self.waits = kernel_seconds, host_seconds, waits
        self.host_now = self.device_free_at = 0.0
        self.spins: list[int] = []
        self.runs: list[int] = []

    def clock(self) -> float:
        return self.host_now

    def queue(self, seconds: float) -> None:
        self.device_free_at = max(self.device_free_at, self.host_now) + seconds

    def run_block(self, number: int) -> None:
        self.runs.append(number)
        for _ in range(number):
            self.host_now += self.host_seconds
            self.queue(self.kernel_seconds)
            if self.waits:
                self.synchronize()

    def _sleep(self, cycles: int) -> None:
        self.spins.append(cycles)
        self.queue(cycles * SPIN_SECONDS_PER_CYCLE)

    def synchronize(self) -> None:
        self.host_now = max(self.host_now, self.device_free_at)

    def Event(self, enable_timing: bool) -> FakeEvent:
        assert enable_timing
        return FakeEvent(self)


class FakeEvent:
    def __init__(self, cuda: FakeCuda) -> None:
        self.cuda = cuda
        self.at = 0.0

    def record(self) -> None:
        self.at = max(self.cuda.device_free_at, self.cuda.host_now)

    def query(self) -> bool:
        return self.at <= self.cuda.host_now

    def synchronize(self) -> None:
        self.cuda.synchronize()

    def elapsed_time(self, end: FakeEvent) -> float:
        return 1e3 * (end.at - self.at)


def blocks_of(cuda: FakeCuda) -> DeviceBlocks:
    return DeviceBlocks(cuda.run_block, TorchDevice(Backend("cuda"), cuda), cuda.clock)


def test_only_the_asked_runs_are_timed_and_neither_hold_nor_launch_is() -> None:
    cuda = FakeCuda(kernel_seconds=2e-6, host_seconds=10e-6)
    blocks = blocks_of(cuda)
    assert blocks.hides_launch
    cuda.runs.clear()
    assert blocks(100) == pytest.approx(200e-6)
    # One run that is not timed goes before: the cache may be another process's.
    assert cuda.runs == [1, 100]


def test_a_spin_is_as_long_as_queueing_takes_by_the_device_clock() -> None:
    cuda = FakeCuda(kernel_seconds=1e-6)
    blocks = blocks_of(cuda)
    assert cuda.spins[:2] == [CALIBRATION_CYCLES] * 2
    assert cuda.runs[0] == RUNS_BEFORE
    blocks(10)
    assert cuda.spins[-1] * SPIN_SECONDS_PER_CYCLE == pytest.approx(1.5 * 11 * 5e-6 + 50e-6, rel=1e-4)


def test_a_block_whose_launch_shows_is_taken_again_with_longer_holds() -> None:
    cuda = FakeCuda(kernel_seconds=1e-6)
    blocks = blocks_of(cuda)
    cuda.host_seconds *= 10
    before = len(cuda.spins)
    assert blocks(50) == pytest.approx(50e-6)
    taken = cuda.spins[before:]
    assert 1 < len(taken) <= ATTEMPTS
    assert taken == sorted(taken)


def test_a_statement_that_waits_is_timed_with_its_waiting_and_never_held() -> None:
    cuda = FakeCuda(kernel_seconds=2e-6, host_seconds=10e-6, waits=True)
    blocks = blocks_of(cuda)
    assert not blocks.hides_launch
    spins, runs = len(cuda.spins), len(cuda.runs)
    assert blocks(100) == pytest.approx(100 * 12e-6)
    assert len(cuda.spins) == spins
    assert cuda.runs[runs:] == [1, 100]
    assert max(cuda.spins[2:]) * SPIN_SECONDS_PER_CYCLE <= LONGEST_HOLD_SECONDS


@pytest.mark.parametrize("host_seconds", [5e-6, 2e-4])
def test_a_statement_without_device_work_is_an_error_and_not_an_endless_search(host_seconds: float) -> None:
    cuda = FakeCuda(kernel_seconds=0.0, host_seconds=host_seconds)
    blocks = blocks_of(cuda)
    assert blocks(1) == 0.0
    with pytest.raises(RuntimeError, match="no work on the device"):
        blocks(64)
