"""Clocks, temperature, power and throttle reasons of an NVIDIA GPU, read through NVML by ctypes. Nothing is set.

The library comes with the driver, so no package is needed. Seven reads take about 30 us on an H200. Without NVML,
`open_nvml` raises with the reason, and the measurement continues without sensors.
"""

from __future__ import annotations

import ctypes
from typing import Any

from photometer.errors import ToolMissing
from photometer.model.device_measurement import ClockReading

LIBRARY = "libnvidia-ml.so.1"
_SUCCESS = 0
_CLOCK_SM, _CLOCK_MEMORY = 1, 2
_SENSOR_GPU = 0
# nvml.h: nvmlClocksEventReason…
_REASONS = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x20: "software thermal",
    0x40: "hardware thermal",
    0x80: "power brake",
}


def started(library: Any = None, *, without: str) -> Any:
    """Return NVML, loaded unless it is given, and started; if it cannot be, the error says what is `without` it."""
    if library is None:
        try:
            library = ctypes.CDLL(LIBRARY)
        except OSError as error:
            raise ToolMissing(
                f"{LIBRARY} cannot be loaded: {error}", remedy=f"It comes with NVIDIA's driver; {without}."
            ) from error
    status = library.nvmlInit_v2()
    if status != _SUCCESS:
        raise ToolMissing(f"NVML does not start: status {status}", remedy="Check that nvidia-smi works.")
    return library


def open_nvml(uuid: str, library: Any = None) -> NvmlClocks:
    """Return the sensors of the GPU with this UUID (with or without the prefix "GPU-")."""
    library = started(library, without="clocks are not read")
    name = uuid if uuid.startswith(("GPU-", "MIG-")) else f"GPU-{uuid}"
    handle = ctypes.c_void_p()
    status = library.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(handle))
    if status != _SUCCESS:
        raise ToolMissing(f"NVML has no GPU {name}: status {status}", remedy="Check nvidia-smi -L.")
    return NvmlClocks(library, handle)


class NvmlClocks:
    """A ClockReader. The reading of a sensor that the card does not have is None."""

    def __init__(self, library: Any, handle: Any) -> None:
        self._library = library
        self._handle = handle

    def read(self) -> ClockReading:
        milliwatts = self._number("nvmlDeviceGetPowerUsage")
        return ClockReading(
            sm_megahertz=self._number("nvmlDeviceGetClockInfo", _CLOCK_SM),
            memory_megahertz=self._number("nvmlDeviceGetClockInfo", _CLOCK_MEMORY),
            temperature_celsius=self._number("nvmlDeviceGetTemperature", _SENSOR_GPU),
            power_watts=None if milliwatts is None else milliwatts / 1000,
            throttle_reasons=self._reasons(),
        )

    def _number(self, function: str, *arguments: int) -> int | None:
        value = ctypes.c_uint()
        status = getattr(self._library, function)(self._handle, *arguments, ctypes.byref(value))
        return value.value if status == _SUCCESS else None

    def _reasons(self) -> tuple[str, ...]:
        # The newer name of the same function is missing in drivers before 535; this one is in all.
        bits = ctypes.c_ulonglong()
        status = self._library.nvmlDeviceGetCurrentClocksThrottleReasons(self._handle, ctypes.byref(bits))
        if status != _SUCCESS:
            return ()
        return tuple(word for bit, word in _REASONS.items() if bits.value & bit)
