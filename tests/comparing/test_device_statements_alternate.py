from __future__ import annotations

import random

import pytest

from photometer.comparing.device_statements import PAIRS_PER_REPLICATE, AlternatingPair, sieve_pairs
from photometer.instruments.device.options import SourceChoice
from photometer.instruments.device.sampler import BlockSample
from photometer.model.device_measurement import ClockReading, Source
from tests.instruments.device.fake_device import FakeDevice, FakeKernel, FakeStatement

FREE = BlockSample(1.0, True, ClockReading(1980))
CAPPED = BlockSample(2.0, True, ClockReading(1400, throttle_reasons=("power cap",)))


def pair(
    device: FakeDevice, seconds_a: float, seconds_b: float, *, cold: bool = False, source: SourceChoice = "auto"
) -> AlternatingPair:
    a, b = (FakeStatement(device, (FakeKernel("k", s, 2 * s),)) for s in (seconds_a, seconds_b))
    return AlternatingPair(
        device.accelerator(), a, b, cold=cold, source=source, order=random.Random(0), clock=device.clock
    )


@pytest.mark.parametrize(("seconds", "source"), [(2e-6, Source.PROFILER), (1e-3, Source.EVENTS)])
@pytest.mark.parametrize("cold", [False, True])
def test_the_ratio_is_the_kernels_hot_and_cold(seconds: float, source: Source, cold: bool) -> None:
    device = FakeDevice()
    found = pair(device, seconds, seconds * 1.05, cold=cold)
    assert found.source is source
    replicate = found.replicate()
    assert replicate.estimate.log_ratio == pytest.approx(0.0488, abs=0.002)
    assert replicate.estimate.blocks == PAIRS_PER_REPLICATE
    assert replicate.estimate.seconds_per_run_a == pytest.approx(seconds * (2 if cold else 1), rel=0.01)


def test_the_source_can_be_asked_for() -> None:
    assert pair(FakeDevice(), 2e-6, 2e-6, source="events").source is Source.EVENTS
    assert pair(FakeDevice(), 1e-3, 1e-3, source="profiler").source is Source.PROFILER


def test_a_statement_that_waits_is_the_profilers() -> None:
    device = FakeDevice()
    waiting = FakeStatement(device, (FakeKernel("k", 1e-3, 1e-3),), waits=True)
    found = AlternatingPair(
        device.accelerator(), waiting, waiting, cold=False, source="auto", order=random.Random(0), clock=device.clock
    )
    assert found.source is Source.PROFILER


def test_pairs_with_a_throttled_block_are_set_aside() -> None:
    kept, throughout = sieve_pairs([(FREE, FREE)] * 6 + [(FREE, CAPPED), (CAPPED, FREE)])
    assert kept == [(FREE, FREE)] * 6
    assert not throughout


def test_where_most_pairs_are_throttled_all_are_kept() -> None:
    pairs = [(CAPPED, CAPPED)] * 6 + [(FREE, FREE)]
    kept, throughout = sieve_pairs(pairs)
    assert kept == pairs
    assert throughout
    assert sieve_pairs([(FREE, FREE)] * 3) == ([(FREE, FREE)] * 3, False)
