"""DeviceMeasurement: what one statement costs on an accelerator, as a table of modes and what bounds it.

Made by instruments/device, shown by report/device_table, and kept in results files as the kind "device_measurement".
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from photometer.model.device_mode import DeviceMode, ModeName
from photometer.model.device_warning import DeviceWarning
from photometer.model.task import TaskSpec


@dataclasses.dataclass(frozen=True)
class KernelTime:
    """One kernel (or copy, or fill) of a run: how often it runs and for how long in all."""

    name: str
    calls_per_run: float
    seconds_per_run: float

    @property
    def is_kernel(self) -> bool:
        """Copies and fills by the driver are device work too, but no kernels. The profiler names them so."""
        return not self.name.startswith(("Memcpy", "Memset"))


@dataclasses.dataclass(frozen=True)
class MemoryUse:
    """Of torch's allocator, in bytes: the most while one run was under way, and how much of it was there before."""

    peak_bytes: int
    before_bytes: int

    @property
    def added_bytes(self) -> int:
        return self.peak_bytes - self.before_bytes


@dataclasses.dataclass(frozen=True)
class Peak:
    """What this card was seen to do at best: a large copy (read and written bytes), a large matrix product."""

    bytes_per_second: float | None = None
    flops_per_second: float | None = None
    flops_dtype: str | None = None


@dataclasses.dataclass(frozen=True)
class DeviceMeasurement:
    """The whole finding. `bytes_per_run` and `flops_per_run` are the user's; `peak` is there where they are."""

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
        for mode in self.modes:
            if mode.name is name:
                return mode
        return DeviceMode(name, absent_because="not asked for")

    @property
    def host(self) -> DeviceMode:
        return self.mode(ModeName.HOST)

    @property
    def hot(self) -> DeviceMode:
        return self.mode(ModeName.DEVICE_HOT)

    @property
    def cold(self) -> DeviceMode:
        return self.mode(ModeName.DEVICE_COLD)

    @property
    def graph(self) -> DeviceMode:
        return self.mode(ModeName.GRAPH_REPLAY)

    @property
    def end_to_end(self) -> DeviceMode:
        return self.mode(ModeName.END_TO_END)

    @property
    def kernels_per_run(self) -> float | None:
        if self.kernels is None:
            return None
        return sum(kernel.calls_per_run for kernel in self.kernels if kernel.is_kernel)

    @property
    def copies_and_fills_per_run(self) -> float | None:
        if self.kernels is None:
            return None
        return sum(kernel.calls_per_run for kernel in self.kernels if not kernel.is_kernel)

    def __repr__(self) -> str:
        times = ", ".join(f"{mode.name.value} {mode.median * 1e6:.3g} us" for mode in self.modes if mode.measured)
        return f"<photometer.DeviceMeasurement on {self.device_name}: {times}; {self.bound}>"
