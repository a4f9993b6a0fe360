"""Findings about NVIDIA GPUs, through NVML: persistence mode, clocks and what holds them back, other users."""

from __future__ import annotations

import ctypes
import dataclasses
from typing import Any

from photometer.doctor.finding import Finding, State
from photometer.doctor.processor import SystemFiles
from photometer.errors import ToolMissing
from photometer.instruments.device.nvml import LIBRARY, NvmlClocks, started

DRIVER_FILE = "/proc/driver/nvidia/version"
# Percent of the time in which a kernel ran, over the last second or so.
BUSY_PERCENT = 5
_SUCCESS, _NO_PERMISSION = 0, 4
_CLOCK_SM = 1
_NAME_BYTES = 96


@dataclasses.dataclass(frozen=True)
class Gpu:
    """One GPU; `handle` is NVML's."""

    number: int
    name: str
    library: Any
    handle: Any

    def value(self, function: str, *arguments: int) -> int | None:
        found = ctypes.c_uint()
        status = getattr(self.library, function)(self.handle, *arguments, ctypes.byref(found))
        return found.value if status == _SUCCESS else None

    @property
    def is_persistent(self) -> bool | None:
        mode = self.value("nvmlDeviceGetPersistenceMode")
        return None if mode is None else bool(mode)

    def set_persistent(self) -> str | None:
        """Turn persistence mode on. Return the reason if it cannot be, else None."""
        status = self.library.nvmlDeviceSetPersistenceMode(self.handle, 1)
        if status == _SUCCESS:
            return None
        return "only root may" if status == _NO_PERMISSION else f"NVML refuses it: status {status}"

    def busy_percent(self) -> int | None:
        class Utilization(ctypes.Structure):
            _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))

        found = Utilization()
        status = self.library.nvmlDeviceGetUtilizationRates(self.handle, ctypes.byref(found))
        return int(found.gpu) if status == _SUCCESS else None


def find_gpus(library: Any = None) -> list[Gpu]:
    """Return the GPUs that NVML knows; none if there is no NVML."""
    try:
        library = started(library, without="GPUs are not examined")
    except ToolMissing:
        return []
    count = ctypes.c_uint()
    if library.nvmlDeviceGetCount_v2(ctypes.byref(count)) != _SUCCESS:
        return []
    gpus = []
    for number in range(count.value):
        handle, name = ctypes.c_void_p(), ctypes.create_string_buffer(_NAME_BYTES)
        if library.nvmlDeviceGetHandleByIndex_v2(number, ctypes.byref(handle)) == _SUCCESS:
            library.nvmlDeviceGetName(handle, name, _NAME_BYTES)
            gpus.append(Gpu(number, name.value.decode(errors="replace"), library, handle))
    return gpus


def gpu_findings(files: SystemFiles, gpus: list[Gpu]) -> list[Finding]:
    if not gpus:
        if files.read(DRIVER_FILE) is not None:
            advice = f"{LIBRARY} comes with the driver. In a container: --gpus all."
            return [Finding("GPU", State.FIX, "there is a driver, but NVML does not start", advice)]
        return [Finding("GPU", State.GOOD, "none")]
    return [finding for gpu in gpus for finding in _of(gpu)]


def _of(gpu: Gpu) -> list[Finding]:
    topic = f"GPU {gpu.number}"
    reading = NvmlClocks(gpu.library, gpu.handle).read()
    highest = gpu.value("nvmlDeviceGetMaxClockInfo", _CLOCK_SM)
    clock = "" if reading.sm_megahertz is None else f", {reading.sm_megahertz} of {highest or '?'} MHz just now"
    findings = []
    if reading.throttle_reasons:
        fact = f"{gpu.name}{clock}, held back by: {', '.join(reading.throttle_reasons)}"
        findings.append(Finding(topic, State.FIX, fact, "Let it cool, or raise its power limit; see nvidia-smi -q."))
    else:
        findings.append(Finding(topic, State.GOOD, gpu.name + clock))
    if gpu.is_persistent is not None:
        state = State.GOOD if gpu.is_persistent else State.FIX
        advice = (
            "" if gpu.is_persistent else "The first use takes seconds each time. As root: photometer doctor --tune."
        )
        shown = "on" if gpu.is_persistent else "off"
        findings.append(Finding(f"{topic} persistence", state, shown, advice))
    busy = gpu.busy_percent()
    if busy is not None:
        state = State.FIX if busy > BUSY_PERCENT else State.GOOD
        advice = "" if state is State.GOOD else "Another program uses it; nvidia-smi shows which one."
        findings.append(Finding(f"{topic} neighbours", state, f"busy for {busy} % of the time", advice))
    return findings
