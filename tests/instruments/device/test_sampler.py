from __future__ import annotations

import pytest

from photometer.errors import MeasurementError
from photometer.instruments.device.accelerator import KernelRecord
from photometer.instruments.device.sampler import (
    LONGEST_HOLD_SECONDS,
    BlockRequest,
    EventSampler,
    ProfilerSampler,
    busy_seconds,
    kernel_table,
    split_at_markers,
)
from tests.instruments.device.fake_device import GAP_SECONDS, LAUNCH_SECONDS, FakeDevice, FakeKernel, FakeStatement


def request(device: FakeDevice, runs: int = 50, **changes: object) -> BlockRequest:
    return BlockRequest(FakeStatement(device), runs, LAUNCH_SECONDS, **changes)  # type: ignore[arg-type]


def test_events_see_the_device_and_its_gaps_but_no_launch() -> None:
    device = FakeDevice()
    _, sample = EventSampler(device.accelerator()).sample([request(device)] * 2)
    assert sample.launch_hidden
    # 1 us of kernel and 1 us of gap, though the host needs 5 us to launch one.
    assert sample.seconds_per_run == pytest.approx(1e-6 + GAP_SECONDS, rel=0.02)
    assert sample.clocks is not None
    assert sample.clocks.sm_megahertz == 1980


def test_a_hold_that_is_too_short_is_noticed() -> None:
    device = FakeDevice()
    slow = FakeStatement(device, python_seconds=100e-6)
    (sample,) = EventSampler(device.accelerator()).sample([BlockRequest(slow, 50, LAUNCH_SECONDS)])
    assert not sample.launch_hidden
    assert sample.seconds_per_run > 50e-6


def test_the_profiler_sees_kernels_alone() -> None:
    device = FakeDevice()
    sampler = ProfilerSampler(device.accelerator())
    samples = sampler.sample([request(device)] * 3)
    assert len(samples) == len(sampler.last_records) == 3
    assert samples[-1].seconds_per_run == pytest.approx(1e-6)
    assert len(sampler.last_records[0]) == 50


def test_cold_runs_are_cold_and_the_flush_is_not_counted() -> None:
    device = FakeDevice()
    cold = request(device, runs=10, cold=True)
    (by_profiler,) = ProfilerSampler(device.accelerator()).sample([cold])
    assert by_profiler.seconds_per_run == pytest.approx(1.5e-6)
    (by_events,) = EventSampler(device.accelerator()).sample([cold])
    assert by_events.seconds_per_run == pytest.approx(1.5e-6 + GAP_SECONDS, rel=0.1)


def test_hot_and_cold_blocks_in_one_session_are_distinct() -> None:
    device = FakeDevice()
    hot, cold = request(device), request(device, runs=7, cold=True)
    samples = ProfilerSampler(device.accelerator()).sample([hot, cold, hot])
    assert [round(s.seconds_per_run * 1e6, 2) for s in samples] == [1.01, 1.5, 1.0]


def test_lost_markers_are_an_error_and_no_wrong_time() -> None:
    device = FakeDevice(loses_markers=True)
    with pytest.raises(MeasurementError, match="markers"):
        ProfilerSampler(device.accelerator()).sample([request(device)] * 2)


def test_without_a_profiler_the_reason_is_named() -> None:
    accelerator = FakeDevice().accelerator(profiler=None, missing=(("profiler", "no such thing here"),))
    with pytest.raises(MeasurementError, match="no such thing here"):
        ProfilerSampler(accelerator).sample([])


@pytest.mark.parametrize("cold", [False, True])
def test_blocks_of_long_kernels_follow_each_other_without_a_pause(cold: bool) -> None:
    device = FakeDevice()
    long = FakeStatement(device, (FakeKernel("long", 1e-3, 1.1e-3),))
    flowing = BlockRequest(long, 5, LAUNCH_SECONDS, cold=cold, device_slower=True)
    started = device.now
    samples = EventSampler(device.accelerator()).sample([flowing] * 6)
    spent = device.now - started
    expected = 1.1e-3 if cold else 1e-3
    assert samples[-1].seconds_per_run == pytest.approx(expected, rel=0.01)
    # All of the time is work: nothing but the first short hold and, cold, the flushes.
    assert spent < 30 * (expected + 90e-6) + 2e-3
    profiled = ProfilerSampler(device.accelerator()).sample([flowing] * 6)
    assert profiled[-1].seconds_per_run == pytest.approx(expected, rel=1e-3)


def test_the_hold_grows_with_the_block_up_to_a_limit() -> None:
    device = FakeDevice()
    assert request(device, runs=100).hold_seconds() > request(device, runs=10).hold_seconds()
    assert request(device, runs=10**9).hold_seconds() == LONGEST_HOLD_SECONDS


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
