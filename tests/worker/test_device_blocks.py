"""Blocks timed by a device, on one that is made of numbers: its clock is the work that was queued."""

from __future__ import annotations

import pytest

from photometer.worker.device_blocks import ATTEMPTS, CALIBRATION_CYCLES, DeviceBlocks

SPIN_SECONDS_PER_CYCLE = 1e-9


class FakeCuda:
    """A queue in which time passes only by work; `host_seconds` is what queueing one run takes the host."""

    def __init__(self, kernel_seconds: float, *, shows_launch: bool = False) -> None:
        self.kernel_seconds = kernel_seconds
        self.shows_launch = shows_launch
        self.device_seconds = 0.0
        self.spins: list[int] = []
        self.runs: list[int] = []

    def run_block(self, number: int) -> None:
        self.runs.append(number)
        self.device_seconds += number * self.kernel_seconds

    def _sleep(self, cycles: int) -> None:
        self.spins.append(cycles)
        self.device_seconds += cycles * SPIN_SECONDS_PER_CYCLE

    def synchronize(self) -> None:
        pass

    def Event(self, enable_timing: bool) -> FakeEvent:
        assert enable_timing
        return FakeEvent(self)


class FakeEvent:
    def __init__(self, cuda: FakeCuda) -> None:
        self.cuda = cuda
        self.at = 0.0

    def record(self) -> None:
        self.at = self.cuda.device_seconds

    def query(self) -> bool:
        return self.cuda.shows_launch

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, end: FakeEvent) -> float:
        return 1e3 * (end.at - self.at)


def test_only_the_asked_runs_are_timed_and_the_hold_is_not() -> None:
    cuda = FakeCuda(kernel_seconds=2e-6)
    blocks = DeviceBlocks(cuda.run_block, cuda)
    assert blocks(100) == pytest.approx(200e-6)
    # One run that is not timed goes before: the cache may be another process's.
    assert cuda.runs == [1, 100]


def test_a_spin_is_as_long_as_the_device_clock_says() -> None:
    cuda = FakeCuda(kernel_seconds=1e-6)
    DeviceBlocks(cuda.run_block, cuda)(10)
    assert cuda.spins[:2] == [CALIBRATION_CYCLES] * 2
    assert cuda.spins[2] * SPIN_SECONDS_PER_CYCLE >= 49e-6


def test_a_block_whose_launch_shows_is_taken_again_with_longer_holds() -> None:
    cuda = FakeCuda(kernel_seconds=1e-6, shows_launch=True)
    assert DeviceBlocks(cuda.run_block, cuda)(10) == pytest.approx(10e-6)
    assert cuda.runs == [1, 10] * ATTEMPTS


def test_a_statement_without_device_work_is_an_error_and_not_an_endless_search() -> None:
    cuda = FakeCuda(kernel_seconds=0.0)
    blocks = DeviceBlocks(cuda.run_block, cuda)
    assert blocks(1) == 0.0
    with pytest.raises(RuntimeError, match="no work on the device"):
        blocks(4096)
