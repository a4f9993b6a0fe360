"""DeviceMode: one row of a device measurement: the time per run and how it was taken, or why it could not be.

The same statement has several true times on an accelerator. The mode says which one this is; the source says what
clock it was read from.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from functools import cached_property

from photometer.errors import MeasurementError
from photometer.model.units import format_seconds
from photometer.stats.interval import median_interval
from photometer.stats.summary import median
from photometer.stats.undisturbed import low_quantile, low_quantile_interval


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
