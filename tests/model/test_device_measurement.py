from __future__ import annotations

import json
import math

import pytest

from photometer.errors import MeasurementError, ResultsFileError
from photometer.model.device_measurement import (
    ClockReading,
    CrossCheck,
    DeviceMeasurement,
    DeviceMode,
    DeviceWarning,
    DeviceWarningKind,
    KernelTime,
    MemoryUse,
    ModeName,
    Peak,
    Source,
)
from photometer.model.records import from_record, to_record
from photometer.model.task import TaskSpec

HOT = DeviceMode(
    ModeName.DEVICE_HOT,
    (1.0e-6, 1.1e-6, 0.9e-6, 1.0e-6, 1.0e-6),
    runs_per_block=100,
    source=Source.PROFILER,
    blocks_set_aside=2,
    clocks=(ClockReading(1980, 3201, 41, 128.5), ClockReading(1400, None, None, None, ("power cap",))),
    cross_check=CrossCheck(Source.EVENTS, 2.0e-6),
)


def measurement() -> DeviceMeasurement:
    return DeviceMeasurement(
        TaskSpec("f(x)", "x = 1", label="a label"),
        "Fake 9000",
        "cuda",
        (HOT, DeviceMode(ModeName.GRAPH_REPLAY, absent_because="it waits")),
        "launch-bound",
        kernels=(KernelTime("add", 2.0, 1e-6), KernelTime("Memcpy DtoD", 1.0, 5e-7)),
        memory=MemoryUse(3000, 1000),
        bytes_per_run=4e9,
        peak=Peak(4e12),
        first_call_seconds=3.0,
        warnings=(DeviceWarning(DeviceWarningKind.FIRST_CALL, "slow start."),),
    )


def test_it_survives_json() -> None:
    record = json.loads(json.dumps(to_record(measurement()), allow_nan=False))
    assert record["kind"] == "device_measurement"
    assert from_record(DeviceMeasurement, record) == measurement()


def test_modes_are_found_by_name() -> None:
    found = measurement()
    assert found.hot is HOT
    assert not found.graph.measured
    assert found.cold.absent_because == "not asked for"
    with pytest.raises(MeasurementError, match="it waits"):
        _ = found.graph.median


def test_median_and_interval() -> None:
    low, high = HOT.interval_seconds
    assert HOT.median == 1.0e-6
    assert low <= 1.0e-6 <= high
    assert DeviceMode(ModeName.HOST, (1.0,)).interval_seconds == (-math.inf, math.inf)


def test_kernels_and_copies_are_counted_apart() -> None:
    found = measurement()
    assert (found.kernels_per_run, found.copies_and_fills_per_run) == (2.0, 1.0)
    assert found.memory is not None
    assert found.memory.added_bytes == 2000
    assert "device hot 1.00 µs" in repr(found)


@pytest.mark.parametrize(
    "damage",
    [
        {"kind": "measurement"},
        {"modes": [{"name": "warp speed"}]},
        {"modes": [{"name": "device hot", "seconds_per_run": ["fast"]}]},
        {"modes": [{"name": "device hot", "clocks": [{"sm_megahertz": "high"}]}]},
        {"modes": [{"name": "device hot", "clocks": [{"throttle_reasons": "all"}]}]},
        {"warnings": [{"kind": "bad-omen", "message": ""}]},
        {"kernels": [{"name": "k"}]},
        {"modes": None},
    ],
)
def test_damaged_records_are_named(damage: dict[str, object]) -> None:
    with pytest.raises(ResultsFileError):
        from_record(DeviceMeasurement, {**to_record(measurement()), **damage})


def test_every_warning_has_a_remedy() -> None:
    for kind in DeviceWarningKind:
        assert DeviceWarning(kind, "x").remedy.endswith(".")
