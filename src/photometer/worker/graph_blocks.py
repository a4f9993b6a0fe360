"""Blocks of runs that a graph of the device replays: the device's own time, with almost no pause between two kernels.

After each kernel that is launched by itself a device pauses for about 1 us, and how long depends on the process: two
that run the same kernel of 2 us were up to 8 % apart. Inside a graph the pause is about 0.2 us. A statement that cannot
be captured (it waits for the device, or has graphs of its own) raises; its loop must then be opened again.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from .accelerators import TorchDevice
from .device_blocks import DeviceBlocks, RunBlock

# Before a capture everything must have been loaded, compiled and allocated once.
RUNS_BEFORE_CAPTURE = 3
# A graph of more runs takes long to build; more runs are several replays.
MOST_RUNS_PER_GRAPH = 1024


class GraphBlocks:
    """Called like `run_block`; returns seconds of device time. The current stream must not be the default one."""

    def __init__(
        self, run_block: RunBlock, device: TorchDevice, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        run_block(RUNS_BEFORE_CAPTURE)
        self._replays = Replays(run_block, device)
        self._blocks = DeviceBlocks(self._replays.run, device, clock)

    def __call__(self, number: int) -> float:
        self._replays.get_ready(number)
        return self._blocks(number)


class Replays:
    """Runs of a statement as replays of graphs, which are captured when they are needed."""

    def __init__(self, run_block: RunBlock, device: TorchDevice) -> None:
        self._run_block = run_block
        self._device = device
        self._graphs: dict[int, Any] = {}

    def run(self, number: int) -> None:
        """Queue the runs, after capturing graphs that are missing."""
        self.get_ready(number)
        for size in _sizes(number):
            self._graphs[size].replay()

    def get_ready(self, number: int) -> None:
        """Capture the graphs for the runs. Single runs, and the last requested block, are kept."""
        wanted = {1, *_sizes(number)}
        if wanted <= self._graphs.keys():
            return
        self._graphs = {size: graph for size, graph in self._graphs.items() if size in wanted}
        for size in sorted(wanted - self._graphs.keys()):
            self._graphs[size] = self._capture(size)

    def _capture(self, runs: int) -> Any:
        """Capture a graph and replay it once: its first launch brings it to the device."""
        self._device.synchronize()
        graph = self._device.new_graph()
        graph.capture_begin()
        try:
            self._run_block(runs)
        except BaseException:
            # What is left of the capture ends with an error of its own, which only follows from this one.
            with contextlib.suppress(RuntimeError):
                graph.capture_end()
            raise
        graph.capture_end()
        graph.replay()
        self._device.synchronize()
        return graph


def _sizes(number: int) -> Iterator[int]:
    """Split a number of runs into graphs."""
    whole, rest = divmod(number, MOST_RUNS_PER_GRAPH)
    for _ in range(whole):
        yield MOST_RUNS_PER_GRAPH
    if rest:
        yield rest
