from __future__ import annotations

import pytest

from photometer.errors import MeasurementError
from photometer.instruments.device.accelerator import KernelRecord
from photometer.instruments.device.kernel_times import busy_seconds, kernel_table, split_at_markers


def record(name: str, start: int, duration: int, stream: int = 7) -> KernelRecord:
    return KernelRecord(name, start, duration, stream)


def test_work_is_split_at_what_runs_on_the_first_records_stream() -> None:
    records = [
        record("spin", 0, 1, stream=13),
        record("spin", 10, 5, stream=13),
        record("a", 20, 3),
        record("b", 30, 3, stream=9),
        record("fill", 40, 5, stream=13),
        record("a", 50, 3),
    ]
    groups = split_at_markers(records)
    assert [[r.name for r in group] for group in groups] == [[], ["a", "b"], ["a"]]


def test_a_session_without_records_is_an_error_with_a_remedy() -> None:
    with pytest.raises(MeasurementError, match="source='events'"):
        split_at_markers([])


def test_kernels_side_by_side_count_once() -> None:
    assert busy_seconds([]) == 0.0
    assert busy_seconds([record("a", 0, 100), record("b", 100, 50)]) == pytest.approx(150e-9)
    assert busy_seconds([record("a", 0, 100), record("b", 500, 50)]) == pytest.approx(150e-9)
    # b overlaps a by half; c lies inside b; order of the list does not matter.
    overlapping = [record("c", 110, 10), record("b", 50, 100), record("a", 0, 100)]
    assert busy_seconds(overlapping) == pytest.approx(150e-9)


def test_the_table_counts_by_name_and_puts_the_longest_first() -> None:
    records = [record("short", 0, 10), record("Memset (Device)", 20, 5), record("long", 30, 1000)] * 4
    table = kernel_table(records, runs=4)
    assert [(k.name, k.calls_per_run) for k in table] == [("long", 1.0), ("short", 1.0), ("Memset (Device)", 1.0)]
    assert table[0].seconds_per_run == pytest.approx(1e-6)
    assert [k.is_kernel for k in table] == [True, True, False]
