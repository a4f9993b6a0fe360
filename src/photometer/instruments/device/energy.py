"""Energy of one run on a GPU: the card's counter before and after some seconds of runs, read through NVML.

The counter has steps of a millijoule, but is updated only every 20 to 100 ms. So some seconds of runs are measured, and
the result states the uncertainty of one update.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from photometer.errors import ToolMissing
from photometer.instruments.device.nvml import LIBRARY
from photometer.model.energy import EnergyOfRun
from photometer.model.task import TaskSpec

# Long compared with the 0.1 s between two updates of the counter.
WORK_SECONDS = 2.0
IDLE_SECONDS = 0.5
# The counter needs this long to include the last run.
UPDATE_SECONDS = 0.1

ReadJoules = Callable[[], float]


def open_energy_counter(number: int = 0, library: Any = None) -> ReadJoules:
    """Return a function that reads the joules drawn since the driver was loaded."""
    if library is None:
        try:
            library = ctypes.CDLL(LIBRARY)
        except OSError as error:
            raise ToolMissing(
                f"{LIBRARY} cannot be loaded: {error}", remedy="It comes with NVIDIA's driver; energy is not measured."
            ) from error
    handle = ctypes.c_void_p()
    if library.nvmlInit_v2() != 0 or library.nvmlDeviceGetHandleByIndex_v2(number, ctypes.byref(handle)) != 0:
        raise ToolMissing(f"NVML has no card {number}", remedy="Check that nvidia-smi works.")

    def read_joules() -> float:
        millijoules = ctypes.c_ulonglong()
        status = library.nvmlDeviceGetTotalEnergyConsumption(handle, ctypes.byref(millijoules))
        if status != 0:
            raise ToolMissing(
                f"the card does not measure energy: NVML status {status}",
                remedy="Use a card of the Volta generation or later.",
            )
        return millijoules.value / 1000

    return read_joules


def card_number(visible: str | None, device: str) -> int:
    """Return NVML's number of one of torch's devices, which are numbered among CUDA_VISIBLE_DEVICES."""
    number = int(device.partition(":")[2] or 0)
    listed = [part.strip() for part in (visible or "").split(",") if part.strip()]
    if number < len(listed) and listed[number].isdecimal():
        return int(listed[number])
    return number


def has_cards() -> bool:
    return Path("/proc/driver/nvidia/gpus").is_dir()


def measure_energy(
    spin: Callable[[float], int],
    read_joules: ReadJoules,
    task_spec: TaskSpec,
    *,
    work_seconds: float = WORK_SECONDS,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.perf_counter,
) -> EnergyOfRun:
    """Measure the energy per run. `spin(seconds)` runs the statement for that long and returns the finished runs."""
    start, before = clock(), read_joules()
    sleep(IDLE_SECONDS)
    idle_watts = max(read_joules() - before, 0.0) / max(clock() - start, 1e-9)
    start, before = clock(), read_joules()
    runs = max(spin(work_seconds), 1)
    seconds = clock() - start
    sleep(UPDATE_SECONDS)
    waited = clock() - start - seconds
    joules = max(read_joules() - before - idle_watts * waited, 0.0)
    watts = joules / max(seconds, 1e-9)
    # One update of the counter may be missing, or belong to the time before.
    return EnergyOfRun(task_spec, joules / runs, watts * UPDATE_SECONDS / runs, watts, idle_watts, runs, seconds)
