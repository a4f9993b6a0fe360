from __future__ import annotations

import pytest

from photometer.instruments.device.blocks import (
    MOST_COLD_RUNS,
    QUEUE_SECONDS,
    Pace,
    collect,
    hide_launch,
    keep_blocks,
)
from photometer.instruments.device.sampler import BlockRequest, BlockSample, EventSampler
from photometer.instruments.stopping import RunFor
from photometer.model.device_measurement import ClockReading
from tests.instruments.device.fake_device import LAUNCH_SECONDS, QUEUE_LENGTH, FakeDevice, FakeKernel, FakeStatement

FREE = BlockSample(1.0, True, ClockReading(1980))
CAPPED = BlockSample(2.0, True, ClockReading(1400, throttle_reasons=("power cap",)))
UNKNOWN = BlockSample(1.0, True, None)


def test_a_block_never_fills_the_devices_queue() -> None:
    # A hundred launches per run at 5 us each: three runs fit.
    pace = Pace(host_seconds_per_run=500e-6, end_to_end_seconds=520e-6)
    assert pace.hot_runs(block_seconds=10.0) * 100 <= QUEUE_LENGTH
    assert Pace(5e-6, 8e-6).hot_runs(10.0) == int(QUEUE_SECONDS / 5e-6)


def test_a_block_of_long_runs_is_as_long_as_asked() -> None:
    assert Pace(5e-6, 1.005e-3).hot_runs(block_seconds=8e-3) == 8
    assert Pace(5e-6, 2.0).hot_runs(block_seconds=8e-3) == 1
    assert Pace(5e-6, 8e-6).cold_runs(8e-3) == MOST_COLD_RUNS


def test_the_hold_is_made_longer_until_the_launch_is_hidden() -> None:
    device = FakeDevice()
    slow = FakeStatement(device, python_seconds=10e-6)
    sampler = EventSampler(device.accelerator())
    request = hide_launch(sampler, BlockRequest(slow, 50, LAUNCH_SECONDS))
    assert request.host_seconds_per_run > LAUNCH_SECONDS
    assert sampler.sample([request])[0].launch_hidden
    assert not request.device_slower


def test_a_device_that_is_slower_anyway_needs_no_hold() -> None:
    device = FakeDevice()
    long = FakeStatement(device, (FakeKernel("long", 1e-3, 1e-3),))
    assert hide_launch(EventSampler(device.accelerator()), BlockRequest(long, 5, LAUNCH_SECONDS)).device_slower


def test_blocks_whose_launch_showed_are_left_out() -> None:
    device = FakeDevice()
    statement = FakeStatement(device)
    calls = 0

    def now_and_then_interrupted(runs: int) -> float:
        nonlocal calls
        calls += 1
        seconds = statement(runs)
        if calls % 4 == 0:
            # Another process takes the core in the middle of queueing, for longer than the hold.
            device.now += 5e-3
            statement(1)
        return seconds

    request = BlockRequest(now_and_then_interrupted, 50, LAUNCH_SECONDS)
    found = collect(
        EventSampler(device.accelerator()), request, RunFor(0.05), clock=device.clock, patience_seconds=0.05
    )
    assert found.launch_hidden
    assert max(found.seconds_per_run) == pytest.approx(min(found.seconds_per_run), rel=0.1)


def test_a_minority_of_throttled_blocks_is_set_aside() -> None:
    found = keep_blocks([FREE, CAPPED, FREE, UNKNOWN])
    assert found.samples == (FREE, FREE, UNKNOWN)
    assert (found.set_aside, found.reasons, found.always) == (1, ("power cap",), False)


def test_a_majority_is_kept_because_there_is_nothing_better() -> None:
    found = keep_blocks([FREE, CAPPED, CAPPED])
    assert found.samples == (FREE, CAPPED, CAPPED)
    assert (found.set_aside, found.always) == (0, True)


def test_without_sensors_nothing_is_set_aside() -> None:
    found = keep_blocks([UNKNOWN, UNKNOWN])
    assert (found.samples, found.set_aside, found.reasons, found.always) == ((UNKNOWN, UNKNOWN), 0, (), False)
    assert keep_blocks([]).samples == ()
