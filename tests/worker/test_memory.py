"""What one run allocates: the arithmetic, torch's own report on the CPU, and an accelerator made of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from photometer.worker import memory
from photometer.worker.memory import device_figures, figures_of, process_peak, take_memory
from photometer.worker.messages import BadMessage, MeasuredMemory
from photometer.worker.python_loop import PythonLoop


@pytest.mark.parametrize(
    ("events", "figures"),
    [
        ([], [0, 0, 0, 0]),
        ([8, -8, 4, -4], [8, 12, 2, 0]),
        ([8, 4, -8], [12, 12, 2, 4]),
        # What the run before has left is freed: the peak is never below the start.
        ([-8, 4, 4], [0, 8, 2, 0]),
    ],
)
def test_peak_bytes_and_blocks_of_events(events: list[int], figures: list[int]) -> None:
    assert figures_of(events) == figures


def taken(stmt: str, setup: str = "pass") -> MeasuredMemory:
    loop = PythonLoop(stmt, setup, globals={"torch": torch})
    with loop.open_blocks() as run_block:
        return take_memory(run_block, 3, lambda: "")


def test_an_allocation_of_known_size_is_exact_and_repeats() -> None:
    assert taken("y = torch.empty(256)").repeats == [[1024, 1024, 1, 0]] * 3


def test_a_temporary_counts_for_the_peak_and_is_not_kept() -> None:
    # 4 KiB for the sum of x and x, another 4 KiB for the square, then the first goes.
    assert taken("y = (x + x).square()", "x = torch.ones(1024)").repeats == [[8192, 8192, 2, 0]] * 3


def test_what_a_run_keeps_is_seen() -> None:
    assert taken("kept.append(torch.empty(64))", "kept = []").repeats == [[256, 256, 1, 256]] * 3


def test_gradients_are_in_it() -> None:
    figures = taken("w.grad = None; (w * 2).sum().backward()", "w = torch.ones(1024, requires_grad=True)").repeats
    assert len({tuple(each) for each in figures}) == 1
    # Freed first, the old gradient makes room for the product: the peak is small, what is allocated is not.
    assert figures[0][1] >= 8192
    assert figures[0][3] == 0


def test_what_torch_does_not_see_shows_in_the_process() -> None:
    grown = taken("b = bytearray(8_000_000)")
    assert grown.repeats == [[0, 0, 0, 0]] * 3
    assert grown.process_peak_bytes is None or grown.process_peak_bytes > 7_000_000


def test_a_system_that_does_not_say_how_large_a_process_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError("not here")

    monkeypatch.setattr(memory, "_give_back_free_memory", refuse)
    assert process_peak(lambda number: 0.0) is None


class FakeCuda:
    """An allocator that counts as CUDA's does; `run` allocates 512 bytes and frees them."""

    def __init__(self) -> None:
        self.current = self.peak = 2048
        self.allocated = self.count = 0

    def run(self, number: int) -> float:
        self.current += 512
        self.peak = max(self.peak, self.current)
        self.allocated += 512
        self.count += 1
        self.current -= 512
        return 0.0

    def synchronize(self, device: str) -> None:
        pass

    def reset_peak_memory_stats(self, device: str) -> None:
        self.peak = self.current

    def memory_stats(self, device: str) -> dict[str, int]:
        return {
            "allocated_bytes.all.current": self.current,
            "allocated_bytes.all.peak": self.peak,
            "allocated_bytes.all.allocated": self.allocated,
            "allocation.all.allocated": self.count,
            "reserved_bytes.all.peak": 2 << 20,
        }


def test_an_accelerators_allocator_is_asked_before_and_after() -> None:
    cuda = FakeCuda()
    run: Callable[[int], float] = cuda.run
    assert device_figures(cuda, "cuda:0", run, 2) == ([[512, 512, 1, 0]] * 2, 2 << 20)


@pytest.mark.parametrize("figures", [[1, 2, 3], [-1, 0, 0, 0]])
def test_nonsense_from_a_child_is_no_memory(figures: list[Any]) -> None:
    with pytest.raises(BadMessage, match="memory"):
        MeasuredMemory([figures])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device; this torch finds none")
def test_memory_of_a_gpu() -> None:
    loop = PythonLoop("y = x + 1", "x = torch.ones(1 << 18, device='cuda')", globals={"torch": torch})
    with loop.open_blocks() as run_block:
        found = take_memory(run_block, 3, lambda: "cuda:0")
    assert found.device_repeats == [[1 << 20, 1 << 20, 1, 0]] * 3
    assert found.device_reserved_bytes
