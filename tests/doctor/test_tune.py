"""--tune on made-up machines: what is written, how it is undone, what is refused."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from photometer.doctor.finding import State
from photometer.doctor.gpu import find_gpus, gpu_findings
from photometer.doctor.processor import SystemFiles
from photometer.doctor.tune import tune
from photometer.report.examination import render_changes
from tests.doctor.fake_machine import cores, fake_machine


class FakeNvml:
    """NVML with one GPU. Pointers are written as the library does."""

    def __init__(self, *, persistent: int = 0, busy: int = 0, throttled: int = 0, may_set: bool = True) -> None:
        self.persistent, self.busy, self.throttled, self.may_set = persistent, busy, throttled, may_set

    def nvmlInit_v2(self) -> int:
        return 0

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:
        count._obj.value = 1
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, number: int, handle: Any) -> int:
        return number

    def nvmlDeviceGetName(self, handle: Any, name: Any, size: int) -> int:
        name.value = b"H200"
        return 0

    def nvmlDeviceGetPersistenceMode(self, handle: Any, mode: Any) -> int:
        mode._obj.value = self.persistent
        return 0

    def nvmlDeviceSetPersistenceMode(self, handle: Any, mode: int) -> int:
        if not self.may_set:
            return 4
        self.persistent = mode
        return 0

    def nvmlDeviceGetUtilizationRates(self, handle: Any, rates: Any) -> int:
        rates._obj.gpu = self.busy
        return 0

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: Any, bits: Any) -> int:
        bits._obj.value = self.throttled
        return 0

    def __getattr__(self, name: str) -> Any:
        def number(handle: Any, *arguments: Any) -> int:
            pointer = arguments[-1]
            assert isinstance(pointer._obj, ctypes.c_uint)
            pointer._obj.value = 1980
            return 0

        return number


def test_governors_are_set_and_the_way_back_is_told(tmp_path: Path) -> None:
    files = fake_machine(tmp_path, {**cores(2, governor="powersave"), **cores(1, governor="performance")})
    (change,) = tune(files, [])
    name = "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"
    assert files.read(name) == "performance"
    assert change.undo == f"echo powersave | sudo tee {name}"
    assert change.undo in render_changes([change])
    assert tune(files, []) == []
    assert "Nothing to tune" in render_changes([])


def test_what_may_not_be_written_is_said(tmp_path: Path) -> None:
    files = fake_machine(tmp_path, cores(1, governor="powersave"))
    path = files.path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")

    class ReadOnly(SystemFiles):
        def path(self, name: str) -> Path:
            # A folder: whoever runs the tests cannot write to it as to a file, root included.
            return super().path(name) if not name.endswith("scaling_governor") else path.parent

        def read(self, name: str) -> str | None:
            return SystemFiles(tmp_path).read(name)

    (change,) = tune(ReadOnly(tmp_path), [])
    assert "run it as root" in change.refused
    assert not change.undo
    assert render_changes([change]).startswith("not changed: governor")


def test_persistence_mode_of_a_gpu(tmp_path: Path) -> None:
    nvml = FakeNvml()
    gpus = find_gpus(nvml)
    found = {finding.topic: finding for finding in gpu_findings(SystemFiles(tmp_path), gpus)}
    assert found["GPU 0"].fact == "H200, 1980 of 1980 MHz just now"
    assert found["GPU 0 persistence"].state is State.FIX
    (change,) = tune(SystemFiles(tmp_path), gpus)
    assert nvml.persistent == 1
    assert change.undo == "sudo nvidia-smi -i 0 -pm 0"
    assert tune(SystemFiles(tmp_path), gpus) == []
    (refused,) = tune(SystemFiles(tmp_path), find_gpus(FakeNvml(may_set=False)))
    assert "only root may" in refused.refused


def test_a_hot_or_busy_gpu_is_a_problem(tmp_path: Path) -> None:
    gpus = find_gpus(FakeNvml(persistent=1, busy=80, throttled=0x40))
    states = {finding.topic: finding.state for finding in gpu_findings(SystemFiles(tmp_path), gpus)}
    assert states == {"GPU 0": State.FIX, "GPU 0 persistence": State.GOOD, "GPU 0 neighbours": State.FIX}


def test_a_driver_without_nvml_and_no_driver(tmp_path: Path) -> None:
    assert gpu_findings(SystemFiles(tmp_path), [])[0].fact == "none"
    files = fake_machine(tmp_path, {"/proc/driver/nvidia/version": "NVRM version: 550"})
    assert gpu_findings(files, [])[0].state is State.FIX
