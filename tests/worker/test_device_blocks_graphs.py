"""Blocks as replays of graphs, on a device that is made of numbers."""

from __future__ import annotations

import pytest

from photometer.worker.accelerators import Backend, TorchDevice
from photometer.worker.device_blocks import MOST_RUNS_PER_GRAPH, GraphBlocks, Replays

from .test_device_blocks import FakeCuda

# Between two kernels, if each is launched by itself.
PAUSE = 1e-6


class GraphCuda(FakeCuda):
    """Kernels that are launched one by one have a pause after them; in a graph they have none."""

    def __init__(self, kernel_seconds: float) -> None:
        super().__init__(kernel_seconds)
        self.capturing: list[float] | None = None
        self.captured: list[int] = []
        self.ended = 0

    def queue(self, seconds: float) -> None:
        if self.capturing is not None:
            self.capturing.append(seconds)
        else:
            super().queue(seconds + PAUSE)

    graph = None

    @property
    def device(self) -> TorchDevice:
        return TorchDevice(Backend("cuda"), self)

    def CUDAGraph(self) -> FakeGraph:
        return FakeGraph(self)


class FakeGraph:
    def __init__(self, cuda: GraphCuda) -> None:
        self.cuda = cuda
        self.kernels: list[float] = []

    def capture_begin(self) -> None:
        assert self.cuda.capturing is None
        self.cuda.capturing = self.kernels

    def capture_end(self) -> None:
        self.cuda.capturing = None
        self.cuda.ended += 1
        self.cuda.captured.append(len(self.kernels))

    def replay(self) -> None:
        self.cuda.host_now += 10e-6
        FakeCuda.queue(self.cuda, sum(self.kernels))


def test_a_block_is_the_time_of_its_kernels_without_the_pauses() -> None:
    cuda = GraphCuda(kernel_seconds=2e-6)
    blocks = GraphBlocks(cuda.run_block, cuda.device, cuda.clock)
    assert blocks(100) == pytest.approx(200e-6)
    runs = len(cuda.runs)
    assert blocks(100) == pytest.approx(200e-6)
    # The second block runs nothing itself: it is a replay.
    assert len(cuda.runs) == runs


def test_single_runs_and_the_last_block_are_kept() -> None:
    cuda = GraphCuda(kernel_seconds=2e-6)
    replays = Replays(cuda.run_block, cuda.device)
    for number in (64, 64, 1, 32, 64):
        replays.run(number)
    assert cuda.captured == [1, 64, 32, 64]


def test_more_runs_than_a_graph_holds_are_several_replays() -> None:
    cuda = GraphCuda(kernel_seconds=1e-6)
    blocks = GraphBlocks(cuda.run_block, cuda.device, cuda.clock)
    number = 2 * MOST_RUNS_PER_GRAPH + 3
    assert blocks(number) == pytest.approx(number * 1e-6)
    assert max(cuda.captured) == MOST_RUNS_PER_GRAPH


def test_what_cannot_be_captured_raises_and_the_capture_is_ended() -> None:
    cuda = GraphCuda(kernel_seconds=1e-6)

    def waits(number: int) -> None:
        cuda.run_block(number)
        if cuda.capturing is not None:
            raise RuntimeError("operation not permitted when stream is capturing")

    with pytest.raises(RuntimeError, match="not permitted"):
        GraphBlocks(waits, cuda.device, cuda.clock)
    assert cuda.ended == 1
