from __future__ import annotations

from typing import Any

import pytest
import torch

from photometer.instruments.device import measure as measure_module
from photometer.instruments.device.measure import measure_statement
from photometer.instruments.device.options import DeviceOptions
from photometer.model.device_measurement import ClockReading, DeviceMeasurement, DeviceWarningKind, Peak, Source
from photometer.model.task import TaskSpec
from tests.instruments.device.fake_device import GAP_SECONDS, LAUNCH_SECONDS, FakeDevice, FakeKernel, FakeStatement

TASK = TaskSpec("f(x)", "pass")
LONG = FakeKernel("long", 1e-3, 1.2e-3)


def measure(
    device: FakeDevice, statement: FakeStatement, parts: dict[str, Any] | None = None, **options: Any
) -> DeviceMeasurement:
    asked = DeviceOptions(**{"min_run_time": 0.05, **options})
    accelerator = device.accelerator(**(parts or {}))
    return measure_statement(statement.open, accelerator, TASK, asked, clock=device.clock)


def kinds(found: DeviceMeasurement) -> set[DeviceWarningKind]:
    return {warning.kind for warning in found.warnings}


def test_a_short_kernel_has_its_own_time_beside_the_hosts() -> None:
    device = FakeDevice()
    found = measure(device, FakeStatement(device, temporary_bytes=4096))
    assert found.host.median == pytest.approx(LAUNCH_SECONDS, rel=0.05)
    assert found.hot.source is Source.PROFILER
    assert found.hot.median == pytest.approx(1e-6, rel=0.02)
    assert found.cold.median == pytest.approx(1.5e-6, rel=0.02)
    assert found.hot.cross_check is not None
    assert found.hot.cross_check.source is Source.EVENTS
    assert found.hot.cross_check.seconds_per_run == pytest.approx(1e-6 + GAP_SECONDS, rel=0.05)
    assert found.graph.median == pytest.approx(1e-6 + GAP_SECONDS, rel=0.05)
    assert found.end_to_end.median > found.host.median + 1e-6
    assert found.bound == "launch-bound: kernels 1.00 µs, host 5.00 µs"
    assert found.kernels_per_run == 1
    assert found.memory is not None
    assert found.memory.added_bytes == 4096
    assert kinds(found) == {DeviceWarningKind.CACHE_HOT}
    assert device.released
    assert not device.is_attached


def test_long_kernels_are_timed_by_events() -> None:
    device = FakeDevice()
    found = measure(device, FakeStatement(device, (LONG,)))
    assert found.hot.source is found.cold.source is Source.EVENTS
    assert found.hot.median == pytest.approx(1e-3, rel=0.01)
    assert found.cold.median == pytest.approx(1.2e-3, rel=0.01)
    assert found.hot.cross_check is not None
    assert found.hot.cross_check.source is Source.PROFILER
    assert found.bound.startswith("device-bound")


def test_many_short_kernels_a_run_are_short_kernels() -> None:
    device = FakeDevice()
    # 200 µs a run, but of 100 kernels of 2 µs: half of what events see is gaps.
    found = measure(device, FakeStatement(device, (FakeKernel("k", 2e-6, 2e-6),) * 100))
    assert found.hot.source is Source.PROFILER
    assert found.hot.median == pytest.approx(200e-6, rel=0.01)
    assert found.kernels_per_run == 100
    assert found.host.median == pytest.approx(100 * LAUNCH_SECONDS, rel=0.05), "the queue must not fill up"


def test_a_statement_that_waits_is_found_out() -> None:
    device = FakeDevice()
    found = measure(device, FakeStatement(device, (FakeKernel("k", 300e-6, 300e-6),), waits=True))
    assert DeviceWarningKind.SYNCHRONISES in kinds(found)
    assert found.hot.source is Source.PROFILER
    assert found.hot.median == pytest.approx(300e-6, rel=0.01)
    assert not found.graph.measured
    assert "waits" in (found.graph.absent_because or "")
    assert found.bound.startswith("bound by waiting")


def test_work_on_several_streams_is_the_profilers() -> None:
    device = FakeDevice()
    found = measure(device, FakeStatement(device, (LONG, FakeKernel("side", 1e-3, 1e-3, stream=9))))
    assert found.hot.source is Source.PROFILER


def test_why_a_graph_cannot_be_captured_is_said() -> None:
    cause = ValueError("dynamic shapes\nand a page of advice")
    error = RuntimeError("capture ended with an error")
    error.__context__ = cause
    device = FakeDevice(capture_error=error)
    found = measure(device, FakeStatement(device))
    assert found.graph.absent_because == "dynamic shapes"
    assert found.hot.measured


def test_a_statement_without_device_work_is_told_so() -> None:
    device = FakeDevice()
    found = measure(device, FakeStatement(device, (), python_seconds=3e-6))
    assert DeviceWarningKind.NO_DEVICE_WORK in kinds(found)
    assert not found.hot.measured
    assert found.bound == "no device work was seen"
    without = measure(device, FakeStatement(device, (), python_seconds=3e-6), {"profiler": None})
    assert DeviceWarningKind.NO_DEVICE_WORK in kinds(without)


def test_without_profiler_graphs_memory_and_sensors_the_rest_is_measured() -> None:
    device = FakeDevice()
    parts: dict[str, object] = {"profiler": None, "graphs": None, "memory": None, "clocks": None}
    found = measure(device, FakeStatement(device), {**parts, "missing": (("graphs", "this card has none"),)})
    assert found.hot.source is Source.EVENTS
    assert found.hot.cross_check is None
    assert found.kernels is None
    assert found.memory is None
    assert found.hot.clocks == ()
    assert found.graph.absent_because == "this card has none"


def test_a_profiler_that_fails_leaves_events_and_a_word() -> None:
    device = FakeDevice(loses_markers=True)
    found = measure(device, FakeStatement(device))
    assert found.hot.source is Source.EVENTS
    assert DeviceWarningKind.PROFILER_FAILED in kinds(found)


def test_events_can_be_asked_for() -> None:
    device = FakeDevice()
    found = measure(device, FakeStatement(device), source="events")
    assert found.hot.source is Source.EVENTS
    assert device.sessions == 0
    assert not kinds(found) & {DeviceWarningKind.LAUNCH_NOT_HIDDEN, DeviceWarningKind.PROFILER_FAILED}


def test_the_profiler_can_be_asked_for() -> None:
    device = FakeDevice()
    found = measure(device, FakeStatement(device, (LONG,)), source="profiler")
    assert found.hot.source is Source.PROFILER


def test_a_profiler_still_attached_is_said() -> None:
    device = FakeDevice(is_attached=True)
    assert DeviceWarningKind.PROFILER_ATTACHED in kinds(measure(device, FakeStatement(device)))


def test_growth_of_the_allocator_and_a_long_first_call_are_said() -> None:
    device = FakeDevice()
    found = measure(device, FakeStatement(device, grows_bytes=2**20, first_call_seconds=3.0))
    assert {DeviceWarningKind.ALLOCATOR_GREW, DeviceWarningKind.FIRST_CALL} <= kinds(found)
    assert found.first_call_seconds == pytest.approx(3.0, rel=0.01)


def test_constant_inputs_are_named() -> None:
    device = FakeDevice()
    names = {"x": torch.zeros(100), "y": torch.randn(100)}
    found = measure(device, FakeStatement(device, names=names), {"kind": "cpu"})
    (warning,) = [w for w in found.warnings if w.kind is DeviceWarningKind.CONSTANT_INPUT]
    assert "x (all 0)" in warning.message
    assert "y (all" not in warning.message


def test_throttled_blocks_are_set_aside_and_said() -> None:
    capped = ClockReading(1400, 3201, 60, 700.0, ("power cap",))
    free = ClockReading(1980, 3201, 40, 120.0)
    # One reading in five finds the device held back.
    device = FakeDevice(reading=lambda now: capped if int(now * 1e3) % 5 == 0 else free)
    found = measure(device, FakeStatement(device))
    assert found.hot.blocks_set_aside > 0
    assert DeviceWarningKind.THROTTLED in kinds(found)
    assert not any(reading.throttled for reading in found.hot.clocks)


def test_a_device_held_back_throughout_keeps_its_blocks() -> None:
    device = FakeDevice(reading=lambda _: ClockReading(1400, 3201, 60, 700.0, ("power cap",)))
    found = measure(device, FakeStatement(device, (LONG,)))
    assert found.hot.measured
    assert found.hot.blocks_set_aside == 0
    (warning,) = [w for w in found.warnings if w.kind is DeviceWarningKind.THROTTLED]
    assert "power cap" in warning.message


def test_precision_is_a_reason_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    device = FakeDevice()
    quick = measure(device, FakeStatement(device), min_run_time=0.01, precision=0.05)
    low, high = quick.hot.interval_seconds
    assert (high - low) / 2 <= 0.05 * quick.hot.median


def test_rates_are_compared_with_measured_peaks(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def fake_peak(*args: object, **kwargs: object) -> Peak:
        asked.append(kwargs)
        return Peak(4e12, 7e14, "bfloat16")

    monkeypatch.setattr(measure_module, "measured_peak", fake_peak)
    device = FakeDevice()
    found = measure(device, FakeStatement(device, (LONG,)), bytes_per_run=4e9)
    assert asked == [{"memory": True, "flops_dtype": None}]
    # 4 GB in 1.2 ms cold are 3.3 TB/s of 4.
    assert found.bound.startswith("memory-bound: 83 % of the copy rate")
    assert measure(device, FakeStatement(device)).peak is None
