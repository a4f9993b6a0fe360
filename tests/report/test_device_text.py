from __future__ import annotations

import dataclasses

from photometer.model.device_measurement import DeviceMode, KernelTime, ModeName, Source
from photometer.report.device_text import render_device, table_of_modes
from tests.model.test_device_measurement import measurement
from tests.report.table_texts import texts


def test_the_table_says_mode_time_and_source() -> None:
    text = render_device(measurement())
    lines = text.splitlines()
    (hot,) = [line for line in lines if line.startswith("  device hot  ")]
    assert hot.startswith("  device hot        1.000 µs  ")
    assert hot.endswith("µs  profiler (events: 2.000 µs)")
    assert "not measured: it waits" in text
    assert "launch-bound" in text
    assert "2 kernels per run, and 1 copy or fill" in text
    assert "memory: 2.9 KiB at most, 2.0 KiB of it by the statement" in text
    assert "4000000 GB/s" in text
    assert "WARNING: slow start." in text
    assert "SM 1400 to 1980 MHz, memory 3201 MHz, 41 °C" in text


def test_long_and_many_kernel_names_are_cut() -> None:
    kernels = tuple(KernelTime(f"kernel_{i}_" + "x" * 200, 1.0, 1e-6) for i in range(8))
    text = render_device(dataclasses.replace(measurement(), kernels=kernels))
    assert "and 3 more" in text
    assert max(len(line) for line in text.splitlines()) < 120


def test_one_block_has_no_interval() -> None:
    modes = (DeviceMode(ModeName.HOST, (1e-3,), 1, Source.HOST_CLOCK),)
    assert texts(table_of_modes(modes)) == [["host", "1.000 ms", "one block only", "host clock"]]


def test_what_was_not_measured_is_not_mentioned() -> None:
    text = render_device(dataclasses.replace(measurement(), kernels=None, memory=None))
    assert not [line for line in text.splitlines() if "kernels" in line or "memory:" in line]
