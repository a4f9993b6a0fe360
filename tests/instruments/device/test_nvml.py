from __future__ import annotations

import ctypes
from typing import Any

import pytest

from photometer.errors import ToolMissing
from photometer.instruments.device import nvml
from photometer.instruments.device.nvml import open_nvml


class FakeLibrary:
    """Answers as NVML does: status as the result, values through pointers."""

    def __init__(self, init_status: int = 0, handle_status: int = 0, power_status: int = 0, reasons: int = 0) -> None:
        self.init_status, self.handle_status, self.power_status = init_status, handle_status, power_status
        self.reasons = reasons
        self.asked_for = b""

    def nvmlInit_v2(self) -> int:
        return self.init_status

    def nvmlDeviceGetHandleByUUID(self, uuid: bytes, handle: Any) -> int:
        self.asked_for = uuid
        return self.handle_status

    def nvmlDeviceGetClockInfo(self, handle: Any, which: int, value: Any) -> int:
        return self._answer(value, {1: 1980, 2: 3201}[which])

    def nvmlDeviceGetTemperature(self, handle: Any, sensor: int, value: Any) -> int:
        return self._answer(value, 41)

    def nvmlDeviceGetPowerUsage(self, handle: Any, value: Any) -> int:
        return self._answer(value, 128_500) if self.power_status == 0 else self.power_status

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: Any, value: Any) -> int:
        return self._answer(value, self.reasons, ctypes.c_ulonglong)

    @staticmethod
    def _answer(value: Any, number: int, kind: type[Any] = ctypes.c_uint) -> int:
        ctypes.cast(value, ctypes.POINTER(kind))[0] = number
        return 0


def test_sensors_are_read() -> None:
    library = FakeLibrary()
    reading = open_nvml("1c2e-7f54", library).read()
    assert library.asked_for == b"GPU-1c2e-7f54"
    assert (reading.sm_megahertz, reading.memory_megahertz, reading.temperature_celsius) == (1980, 3201, 41)
    assert reading.power_watts == 128.5
    assert not reading.throttled


def test_reasons_are_words_and_idleness_is_none_of_them() -> None:
    reading = open_nvml("GPU-x", FakeLibrary(reasons=0x1 | 0x4 | 0x40)).read()
    assert reading.throttle_reasons == ("power cap", "hardware thermal")
    assert not open_nvml("GPU-x", FakeLibrary(reasons=0x1 | 0x2)).read().throttled


def test_a_sensor_that_is_missing_reads_none() -> None:
    assert open_nvml("GPU-x", FakeLibrary(power_status=3)).read().power_watts is None


@pytest.mark.parametrize("library", [FakeLibrary(init_status=9), FakeLibrary(handle_status=6)])
def test_an_nvml_that_does_not_work_is_missing(library: FakeLibrary) -> None:
    with pytest.raises(ToolMissing, match="nvidia-smi"):
        open_nvml("GPU-x", library)


def test_no_library_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "LIBRARY", "libno-such-thing.so")
    with pytest.raises(ToolMissing, match="clocks are not read"):
        open_nvml("GPU-x")
