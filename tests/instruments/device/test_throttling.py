from __future__ import annotations

from photometer.instruments.device.sampler import BlockSample
from photometer.instruments.device.throttling import sieve
from photometer.model.device_mode import ClockReading

FREE = BlockSample(1.0, True, ClockReading(1980))
CAPPED = BlockSample(2.0, True, ClockReading(1400, throttle_reasons=("power cap",)))
UNKNOWN = BlockSample(1.0, True, None)


def test_a_minority_of_throttled_blocks_is_set_aside() -> None:
    found = sieve([FREE, CAPPED, FREE, UNKNOWN])
    assert found.kept == (FREE, FREE, UNKNOWN)
    assert (found.set_aside, found.reasons, found.always) == (1, ("power cap",), False)


def test_a_majority_is_kept_because_there_is_nothing_better() -> None:
    found = sieve([FREE, CAPPED, CAPPED])
    assert found.kept == (FREE, CAPPED, CAPPED)
    assert (found.set_aside, found.always) == (0, True)


def test_without_sensors_nothing_is_set_aside() -> None:
    found = sieve([UNKNOWN, UNKNOWN])
    assert (found.kept, found.set_aside, found.reasons, found.always) == ((UNKNOWN, UNKNOWN), 0, (), False)
    assert sieve([]).kept == ()
