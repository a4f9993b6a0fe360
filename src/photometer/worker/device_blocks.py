"""Blocks of runs timed on the accelerator itself, between two marks in its queue.

A spinning kernel holds the device while a block is queued, so that its time does not depend on how fast the host
launches. `DeviceBlocks(run_block, device)` is called like `run_block`, and returns seconds of device time. A statement
that waits for the device, or queues more than its queue holds, cannot be held: its time includes its waiting.

`GraphBlocks` replays its runs as a graph of the device, with almost no pause between two kernels. After each kernel
that is launched by itself a device pauses for about 1 us, and how long depends on the process: two that run the same
kernel of 2 us were up to 8 % apart. Inside a graph the pause is about 0.2 us. A statement that cannot be captured (it
waits for the device, or has graphs of its own) raises; its loop must then be opened again.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from .accelerators import TorchDevice

RunBlock = Callable[[int], object]

# The hold is this many times as long as queueing took before, for the next time may be slower; and never shorter than
# starting it takes.
HOLD_MARGIN = 1.5
SHORTEST_HOLD_SECONDS = 50e-6
# Long enough for anything that fits the device's queue (about 1,000 launches).
LONGEST_HOLD_SECONDS = 0.05
# A block whose launch showed is taken again with a hold so much longer, so often at most.
LONGER_HOLD = 3.0
ATTEMPTS = 3
# Runs before anything is learned: kernels are loaded, and perhaps compiled, at their first call.
RUNS_BEFORE = 2
# Spins that the device's clock rate is learned from: long enough that starting and ending them does not show.
CALIBRATION_CYCLES = 2_000_000
# No kernel is shorter (0.9 us on an H200); two marks with nothing between are 2 ns a run apart.
SHORTEST_KERNEL_SECONDS = 100e-9
RUNS_TO_BELIEVE_NOTHING = 64


class DeviceBlocks:
    """`clock` is the host's. A device that cannot spin cannot be held: `hides_launch` is then False."""

    def __init__(
        self, run_block: RunBlock, device: TorchDevice, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._run_block = run_block
        self._device = device
        self._clock = clock
        self._spin = device.spin
        self._cycles_per_second = self._calibrate() if self._spin is not None else 0.0
        run_block(RUNS_BEFORE)
        device.synchronize()
        began = clock()
        run_block(1)
        self._queueing_seconds_per_run = clock() - began
        # Learned once, on blocks of one run: whether the launch can be hidden must not change from block to block.
        attempts = range(ATTEMPTS if self._spin is not None else 0)
        self.hides_launch = any(self._take(1, HOLD_MARGIN * LONGER_HOLD**attempt)[1] for attempt in attempts)

    def __call__(self, number: int) -> float:
        if not self.hides_launch:
            return self._take(number, 0.0)[0]
        seconds, was_hidden = 0.0, False
        for attempt in range(ATTEMPTS):
            seconds, was_hidden = self._take(number, HOLD_MARGIN * LONGER_HOLD**attempt)
            if was_hidden:
                break
        if was_hidden and number >= RUNS_TO_BELIEVE_NOTHING and seconds / number < SHORTEST_KERNEL_SECONDS:
            raise RuntimeError("the statement does no work on the device: there is no device time to compare")
        return seconds

    def _take(self, number: int, hold_margin: float) -> tuple[float, bool]:
        """Time one block; return whether the device was still held when its last run was queued. No margin, no hold."""
        self._device.synchronize()
        start, end = (self._device.event() for _ in range(2))
        if hold_margin and self._spin is not None:
            wanted = hold_margin * self._queueing_seconds_per_run * (number + 1) + SHORTEST_HOLD_SECONDS
            self._spin(int(min(wanted, LONGEST_HOLD_SECONDS) * self._cycles_per_second))
        began = self._clock()
        # Not timed: another process had the device before, and its caches.
        self._run_block(1)
        start.record()
        self._run_block(number)
        end.record()
        was_hidden = not start.query()
        if was_hidden:
            # Otherwise it may have waited for the hold itself, and the next would be longer and longer.
            self._queueing_seconds_per_run = (self._clock() - began) / (number + 1)
        end.synchronize()
        return start.elapsed_time(end) / 1e3, was_hidden

    def _calibrate(self) -> float:
        """Return the cycles of a spin in a second, from the second of two: during the first the clock is still low."""
        assert self._spin is not None
        seconds = 0.0
        for _ in range(2):
            start, end = (self._device.event() for _ in range(2))
            start.record()
            self._spin(CALIBRATION_CYCLES)
            end.record()
            end.synchronize()
            seconds = start.elapsed_time(end) / 1e3
        return CALIBRATION_CYCLES / max(seconds, 1e-9)


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
