"""Which blocks to keep: those in which the device was held back tell of the power supply or the cooling.

Where most blocks were held back there is nothing better (a large matrix product runs at the power cap all the time),
and all are kept; the measurement says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from photometer.instruments.device.sampler import BlockSample


@dataclass(frozen=True)
class Sieved:
    """`always` names the reasons that held in most blocks, so that nothing could be set aside for them."""

    kept: tuple[BlockSample, ...]
    set_aside: int
    reasons: tuple[str, ...]
    always: bool


def sieve(samples: Sequence[BlockSample]) -> Sieved:
    throttled = [sample for sample in samples if sample.clocks is not None and sample.clocks.throttled]
    reasons = tuple(sorted({reason for s in throttled if s.clocks is not None for reason in s.clocks.throttle_reasons}))
    if 2 * len(throttled) >= len(samples):
        return Sieved(tuple(samples), 0, reasons, always=bool(throttled))
    kept = tuple(sample for sample in samples if sample.clocks is None or not sample.clocks.throttled)
    return Sieved(kept, len(throttled), reasons, always=False)
