"""Accelerators: the results of `Timer.measure_device`, mode by mode."""

from __future__ import annotations

from photometer.model.device_measurement import (
    ClockReading as ClockReading,
    DeviceMeasurement as DeviceMeasurement,
    DeviceMode as DeviceMode,
)
from photometer.model.memory_measurement import MemoryFigures as MemoryFigures

__all__ = [
    "ClockReading",
    "DeviceMeasurement",
    "DeviceMode",
    "MemoryFigures",
]
