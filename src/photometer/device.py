"""Accelerators: the results of `Timer.measure_device`, mode by mode."""

from __future__ import annotations

from photometer.model.device_measurement import DeviceMeasurement as DeviceMeasurement
from photometer.model.device_mode import ClockReading as ClockReading, DeviceMode as DeviceMode
from photometer.model.memory_measurement import MemoryFigures as MemoryFigures

__all__ = [
    "ClockReading",
    "DeviceMeasurement",
    "DeviceMode",
    "MemoryFigures",
]
