from __future__ import annotations

import pytest

from photometer.errors import MeasurementError, ResultsFileError
from photometer.model.memory_measurement import MemoryFigures, MemoryMeasurement
from photometer.model.records import from_record, to_record
from photometer.model.task import TaskSpec

SPEC = TaskSpec("y = x + 1")
ONE, TWO = MemoryFigures(4096, 8192, 3), MemoryFigures(4096, 8200, 4)


def test_what_most_runs_have_stands_for_all() -> None:
    measured = MemoryMeasurement(SPEC, (ONE, TWO, ONE))
    assert measured.host == ONE
    assert not measured.is_exact
    assert "not all equal" in repr(measured)


def test_an_accelerator_comes_first() -> None:
    measured = MemoryMeasurement(SPEC, (ONE,), "cuda:0", (TWO,), 2 << 20, 4096)
    assert (measured.peak_bytes, measured.allocated_bytes, measured.allocations) == (4096, 8200, 4)
    text = repr(measured)
    assert "cuda:0: peak 4.0 KiB, allocates 8.0 KiB in 4 blocks" in text
    assert "2.0 MiB reserved" in text
    assert "CPU: peak" in text
    assert "grew by up to 4.0 KiB" in text


def test_records_come_back() -> None:
    measured = MemoryMeasurement(SPEC, (ONE, TWO), process_peak_bytes=1)
    record = to_record(measured)
    assert record["kind"] == "memory"
    assert from_record(MemoryMeasurement, record) == measured


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(MeasurementError, match="at least one repeat"):
        MemoryMeasurement(SPEC, ())
    record = to_record(MemoryMeasurement(SPEC, (ONE,)))
    record["repeats"][0]["peak_bytes"] = -1
    with pytest.raises(ResultsFileError, match="peak_bytes"):
        from_record(MemoryMeasurement, record)
