"""A real accelerator through torch: all of CUDA, and others as far as their torch module supports it.

Our own work runs on a separate stream, so that the profiler can tell it from the statement's.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from photometer.errors import DeviceMissing, MeasurementError, ToolMissing
from photometer.instruments.device.accelerator import Accelerator, ClockReader, MemoryReading
from photometer.instruments.device.nvml import open_nvml
from photometer.instruments.device.torch_profiler import TorchProfiler, profiler_supports
from photometer.worker.device_blocks import CALIBRATION_CYCLES

# Writing a buffer this many times larger than the cache displaces everything, whatever the replacement policy (triton's
# do_bench uses 256 MB for any card, which is four times an H200's 60 MB).
CACHE_MULTIPLE = 4
# Used if torch does not report the size of the cache.
FALLBACK_CACHE_BYTES = 64 * 2**20
# Runs on a side stream before a capture: torch advises against lazy initialisation inside it.
RUNS_BEFORE_CAPTURE = 3


def open_accelerator(device: str | None = None) -> Accelerator:
    """Open and return the accelerator of this process ("cuda", "cuda:1"; by default the current one)."""
    import torch

    kind = (device or _default_kind(torch)).split(":")[0]
    if kind == "cpu":
        raise DeviceMissing("the CPU is not an accelerator", remedy="Use Timer.blocked_autorange for CPU time.")
    module = getattr(torch, kind, None)
    if module is None or not hasattr(module, "is_available") or not module.is_available():
        raise DeviceMissing(
            f"there is no {kind} device that this torch ({torch.__version__}) can use",
            remedy="Run on a machine with one, with a torch built for it; CPU time needs no accelerator.",
        )
    if device is not None and ":" in device:
        module.set_device(int(device.split(":")[1]))
    if not hasattr(module, "Event") or not hasattr(module, "Stream"):
        raise DeviceMissing(f"torch.{kind} has no events and streams to time with", remedy="Use a CUDA or XPU device.")
    return _assemble(kind, module, module.current_device())


def _default_kind(torch: Any) -> str:
    if hasattr(torch, "accelerator") and torch.accelerator.is_available():
        return str(torch.accelerator.current_accelerator().type)
    if torch.cuda.is_available():
        return "cuda"
    raise DeviceMissing(
        f"this machine has no accelerator that this torch ({torch.__version__}) can use",
        remedy="Run on a machine with one, with a torch built for it; CPU time needs no accelerator.",
    )


@functools.lru_cache(maxsize=16)
def _assemble(kind: str, module: Any, index: int) -> Accelerator:
    """Assemble the parts, once per device: the spin's rate and the peaks are measured once per process."""
    properties = module.get_device_properties(index)
    cache_bytes = getattr(properties, "L2_cache_size", None) or None
    queue = TorchQueue(kind, module, cache_bytes)
    missing = []
    clocks: ClockReader | None = None
    try:
        if kind != "cuda" or not hasattr(properties, "uuid"):
            raise ToolMissing(f"torch.{kind} does not report the device's UUID")
        clocks = open_nvml(str(properties.uuid))
    except ToolMissing as error:
        missing.append(("clocks", str(error)))
    has_profiler = profiler_supports(kind)
    if not has_profiler:
        missing.append(("profiler", f"this torch's profiler does not record {kind} devices"))
    has_graphs = hasattr(module, "CUDAGraph") and hasattr(module, "graph")
    if not has_graphs:
        missing.append(("graphs", f"torch.{kind} has no graphs"))
    has_memory = hasattr(module, "max_memory_allocated")
    if not has_memory:
        missing.append(("memory", f"torch.{kind} does not report memory"))
    return Accelerator(
        name=str(module.get_device_name(index)),
        kind=kind,
        cache_bytes=cache_bytes,
        queue=queue,
        profiler=TorchProfiler(kind, queue.synchronize, queue.queue_marker) if has_profiler else None,
        graphs=TorchGraphs(module) if has_graphs else None,
        memory=TorchMemory(module) if has_memory else None,
        clocks=clocks,
        missing=tuple(missing),
    )


class TorchQueue:
    """A WorkQueue on torch's current stream, with a second stream for our own work."""

    def __init__(self, kind: str, module: Any, cache_bytes: int | None) -> None:
        import torch

        self._module = module
        self._stream = module.Stream(priority=-1)
        self._buffer: Any = None
        self._buffer_bytes = CACHE_MULTIPLE * (cache_bytes or FALLBACK_CACHE_BYTES)
        self._torch, self._kind = torch, kind
        self._spin = getattr(module, "_sleep", None)
        self._cycles_per_second = self._calibrate() if self._spin is not None else 0.0

    def _calibrate(self) -> float:
        """Return a spin's cycles per second, from the second of two spins: during the first the clock is still low."""
        assert self._spin is not None
        seconds = 0.0
        for _ in range(2):
            start, end = self.mark(), None
            self._spin(CALIBRATION_CYCLES)
            end = self.mark()
            self.synchronize()
            seconds = self.seconds_between(start, end)
        return CALIBRATION_CYCLES / max(seconds, 1e-9)

    def synchronize(self) -> None:
        self._module.synchronize()

    def mark(self) -> Any:
        event = self._module.Event(enable_timing=True)
        event.record()
        return event

    def seconds_between(self, start: Any, end: Any) -> float:
        return float(start.elapsed_time(end)) / 1e3

    def has_passed(self, mark: Any) -> bool:
        return bool(mark.query())

    def wait_for(self, mark: Any) -> None:
        mark.synchronize()

    def hold(self, seconds: float) -> None:
        if self._spin is None:
            # No spin on this backend: filling the large buffer is the marker, and hides little.
            self.flush_cache()
            return
        spin, cycles = self._spin, int(seconds * self._cycles_per_second)
        self._ahead(lambda: spin(max(cycles, 1)))

    def flush_cache(self) -> None:
        """Write the buffer instead of reading it: its lines are then dirty, as after other work of a program."""
        if self._buffer is None:
            self._allocate()
        self._ahead(self._buffer.zero_)

    def release(self) -> None:
        self._buffer = None

    def queue_marker(self) -> None:
        self.hold(0.0)

    def _ahead(self, queue_work: Callable[[], object]) -> None:
        """Queue our own work after what is already queued, and before what comes next."""
        current = self._module.current_stream()
        self._stream.wait_stream(current)
        with self._module.stream(self._stream):
            queue_work()
        current.wait_stream(self._stream)

    def _allocate(self) -> None:
        try:
            self._buffer = self._torch.empty(self._buffer_bytes, dtype=self._torch.int8, device=self._kind)
        except RuntimeError as error:
            raise MeasurementError(
                f"the device has no {self._buffer_bytes / 2**20:.0f} MiB free to flush the cache: {error}",
                remedy="Free memory on the device, or measure without the cold mode.",
            ) from error


class TorchGraphs:
    def __init__(self, module: Any) -> None:
        self._module = module

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        module = self._module
        side = module.Stream()
        side.wait_stream(module.current_stream())
        with module.stream(side):
            yield
        module.current_stream().wait_stream(side)

    def capture(self, run: Callable[[], object]) -> Callable[[], None]:
        module = self._module
        for _ in range(RUNS_BEFORE_CAPTURE):
            run()
        module.synchronize()
        graph = module.CUDAGraph()
        # On the same stream as the runs before: autograd ties a leaf's gradient to the stream that first used it.
        with module.graph(graph, stream=module.current_stream()):
            run()
        replay: Callable[[], None] = graph.replay
        return replay


class TorchMemory:
    def __init__(self, module: Any) -> None:
        self._module = module

    def read(self) -> MemoryReading:
        module = self._module
        return MemoryReading(module.memory_allocated(), module.memory_reserved(), module.max_memory_allocated())

    def reset_peak(self) -> None:
        self._module.reset_peak_memory_stats()
