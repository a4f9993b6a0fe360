"""DeviceMeasurement: the cost of one statement on an accelerator, as a table of modes and what bounds it.

The same statement has several true times on an accelerator. Each DeviceMode is one: how it was taken, from what clock,
the time per run, or why it could not be taken. Made by instruments/device, shown by report/device_text, and kept in
results files as the kind "device_measurement".
"""

from __future__ import annotations

import dataclasses
import enum
import math
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from photometer.errors import MeasurementError
from photometer.model.task import TaskSpec
from photometer.model.units import format_seconds
from photometer.stats.summary import median, median_interval
from photometer.stats.undisturbed import low_quantile, low_quantile_interval

if TYPE_CHECKING:
    from photometer.report.plots import Plot


class ModeName(enum.Enum):
    """The modes in the order of the table."""

    HOST = "host"
    DEVICE_HOT = "device hot"
    DEVICE_COLD = "device cold"
    GRAPH_REPLAY = "graph replay"
    END_TO_END = "end to end"


class Source(enum.Enum):
    """Which clock a time was read from."""

    HOST_CLOCK = "host clock"
    EVENTS = "events"
    PROFILER = "profiler"


MODE_MEANS = {
    ModeName.HOST: "Python, dispatch and launch of a run, without waiting for the device (lowest tenth of the blocks)",
    ModeName.DEVICE_HOT: "the device at work, its cache warm from the run before",
    ModeName.DEVICE_COLD: "the device at work, its cache flushed before each run",
    ModeName.GRAPH_REPLAY: "a run captured as a graph and replayed, launch hidden",
    ModeName.END_TO_END: "one run from call to finished result, with synchronisation",
}


@dataclasses.dataclass(frozen=True)
class ClockReading:
    """The readings of the device's sensors while a block ran. All are optional: drivers differ in what they report."""

    sm_megahertz: int | None = None
    memory_megahertz: int | None = None
    temperature_celsius: int | None = None
    power_watts: float | None = None
    throttle_reasons: tuple[str, ...] = ()

    @property
    def throttled(self) -> bool:
        """Return whether the clocks were held down."""
        return bool(self.throttle_reasons)


@dataclasses.dataclass(frozen=True)
class CrossCheck:
    """The same time by the other source, to show how far the two agree."""

    source: Source
    seconds_per_run: float


@dataclasses.dataclass(frozen=True)
class DeviceMode:
    """Seconds per run of each block that was kept, with the device's clocks while it ran."""

    name: ModeName
    seconds_per_run: tuple[float, ...] = ()
    runs_per_block: int = 0
    source: Source | None = None
    absent_because: str | None = None
    blocks_set_aside: int = 0
    clocks: tuple[ClockReading, ...] = ()
    cross_check: CrossCheck | None = None

    def __repr__(self) -> str:
        if not self.measured:
            return f"<photometer.DeviceMode {self.name.value}: not measured, {self.absent_because or 'not asked for'}>"
        source = f" by {self.source.value}" if self.source is not None else ""
        blocks = f"{len(self.seconds_per_run)} block{'' if len(self.seconds_per_run) == 1 else 's'}"
        return f"<photometer.DeviceMode {self.name.value}: {format_seconds(self.median)}{source}, {blocks}>"

    @property
    def measured(self) -> bool:
        """Return whether this mode has any samples."""
        return bool(self.seconds_per_run)

    @cached_property
    def median(self) -> float:
        if not self.seconds_per_run:
            raise MeasurementError(
                f"the mode {self.name.value!r} was not measured: {self.absent_because or 'no reason is known'}",
                remedy="Ask `measured` first.",
            )
        return median(self.seconds_per_run)

    @property
    def seconds(self) -> float:
        """Return the figure for all blocks: the median; for the host, whose noise only adds, the low quantile."""
        if self.name is ModeName.HOST and self.measured:
            return low_quantile(self.seconds_per_run)
        return self.median

    @cached_property
    def interval_seconds(self) -> tuple[float, float]:
        """The interval of `seconds`; of a median with 95 % confidence, and infinite if there is only one block."""
        if self.name is ModeName.HOST and len(self.seconds_per_run) > 1:
            return low_quantile_interval(self.seconds_per_run)
        low, high = median_interval(self.seconds_per_run)
        # No run is faster than the fastest block; without a bound it stays so.
        return max(low, min(self.seconds_per_run)) if low > -math.inf else low, high


@dataclasses.dataclass(frozen=True)
class KernelTime:
    """One kernel (or copy, or fill) of a run: how often it runs and for how long in all."""

    name: str
    calls_per_run: float
    seconds_per_run: float

    @property
    def is_kernel(self) -> bool:
        """Whether it is a kernel and not a copy or fill by the driver, which the profiler names so."""
        return not self.name.startswith(("Memcpy", "Memset"))


@dataclasses.dataclass(frozen=True)
class MemoryUse:
    """Memory of torch's allocator, in bytes: the maximum during one run, and how much of it was there before."""

    peak_bytes: int
    before_bytes: int

    @property
    def added_bytes(self) -> int:
        return self.peak_bytes - self.before_bytes


@dataclasses.dataclass(frozen=True)
class Peak:
    """The best that was measured on this card: a large copy (read and written bytes), a large matrix product."""

    bytes_per_second: float | None = None
    flops_per_second: float | None = None
    flops_dtype: str | None = None


class DeviceWarningKind(enum.Enum):
    CONSTANT_INPUT = "constant-input"
    SYNCHRONISES = "synchronises"
    ALLOCATOR_GREW = "allocator-grew"
    CACHE_HOT = "cache-hot"
    FIRST_CALL = "first-call"
    THROTTLED = "throttled"
    CLOCK_CHANGED = "clock-changed"
    LAUNCH_NOT_HIDDEN = "launch-not-hidden"
    PROFILER_ATTACHED = "profiler-attached"
    PROFILER_FAILED = "profiler-failed"
    NO_DEVICE_WORK = "no-device-work"
    WIDE_INTERVAL = "wide-interval"


_REMEDIES = {
    DeviceWarningKind.CONSTANT_INPUT: "Use random data: constant data draws less power, so the clock stays higher.",
    DeviceWarningKind.SYNCHRONISES: "Look for .item(), .cpu(), nonzero, printing, or copies from unpinned memory.",
    DeviceWarningKind.ALLOCATOR_GREW: "See that the statement keeps no tensors alive from run to run.",
    DeviceWarningKind.CACHE_HOT: "Take the cold figure if the program does other work between two such runs.",
    DeviceWarningKind.FIRST_CALL: "It is not in the figures. Count it apart if the program pays it often.",
    DeviceWarningKind.THROTTLED: "Compare such figures only with others taken under the same load, side by side.",
    DeviceWarningKind.CLOCK_CHANGED: "Lock it (--lock-clocks, as root), or compare side by side (ab --device).",
    DeviceWarningKind.LAUNCH_NOT_HIDDEN: "Let the profiler give the device time (source='profiler').",
    DeviceWarningKind.PROFILER_ATTACHED: "For the host's own time, measure in a fresh process.",
    DeviceWarningKind.PROFILER_FAILED: "Times are from events. End other profilers in this process.",
    DeviceWarningKind.NO_DEVICE_WORK: "Check that the tensors are on the accelerator.",
    DeviceWarningKind.WIDE_INTERVAL: "Measure longer: min_run_time, or precision with max_run_time.",
}


@dataclasses.dataclass(frozen=True)
class DeviceWarning:
    """One reason to doubt, or to read with care, what was measured. Data, not text."""

    kind: DeviceWarningKind
    message: str

    @property
    def remedy(self) -> str:
        return _REMEDIES[self.kind]

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}"


@dataclasses.dataclass(frozen=True)
class DeviceMeasurement:
    """All modes. `bytes_per_run` and `flops_per_run` are the user's; `peak` is present if they are."""

    KIND: ClassVar[str] = "device_measurement"

    task_spec: TaskSpec
    device_name: str
    device_kind: str
    modes: tuple[DeviceMode, ...]
    bound: str
    kernels: tuple[KernelTime, ...] | None = None
    memory: MemoryUse | None = None
    bytes_per_run: float | None = None
    flops_per_run: float | None = None
    peak: Peak | None = None
    first_call_seconds: float | None = None
    warnings: tuple[DeviceWarning, ...] = ()

    def mode(self, name: ModeName) -> DeviceMode:
        """Return the mode of that name."""
        for mode in self.modes:
            if mode.name is name:
                return mode
        return DeviceMode(name, absent_because="not asked for")

    @property
    def host(self) -> DeviceMode:
        """Return the host's time per run."""
        return self.mode(ModeName.HOST)

    @property
    def hot(self) -> DeviceMode:
        """Return device time with a warm cache."""
        return self.mode(ModeName.DEVICE_HOT)

    @property
    def cold(self) -> DeviceMode:
        """Return device time with the cache flushed before each run."""
        return self.mode(ModeName.DEVICE_COLD)

    @property
    def graph(self) -> DeviceMode:
        """Return the time of one replay as a graph, if it could be captured."""
        return self.mode(ModeName.GRAPH_REPLAY)

    @property
    def end_to_end(self) -> DeviceMode:
        """Return the time from the call to the finished result."""
        return self.mode(ModeName.END_TO_END)

    @property
    def kernels_per_run(self) -> float | None:
        """Return the number of kernels that one run queues."""
        if self.kernels is None:
            return None
        return sum(kernel.calls_per_run for kernel in self.kernels if kernel.is_kernel)

    @property
    def copies_and_fills_per_run(self) -> float | None:
        """Return the number of copies and fills that one run queues."""
        if self.kernels is None:
            return None
        return sum(kernel.calls_per_run for kernel in self.kernels if not kernel.is_kernel)

    def __repr__(self) -> str:
        measured = [mode for mode in self.modes if mode.measured]
        times = ", ".join(f"{mode.name.value} {format_seconds(mode.seconds, 3)}" for mode in measured)
        return f"<photometer.DeviceMeasurement on {self.device_name}: {times}; {self.bound}>"

    def __str__(self) -> str:
        from photometer.report.device_text import render_device

        return render_device(self).rstrip("\n")

    def plot(self) -> Plot:
        """Return a picture of the modes, for a notebook or a file."""
        from photometer.report.plots import plot_device

        return plot_device(self)

    def _repr_html_(self) -> str:
        from photometer.report.notebook import device_html

        return device_html(self)
