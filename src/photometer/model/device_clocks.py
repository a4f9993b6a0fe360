"""ClockReading: what an accelerator's own sensors said while a block ran, and whether it was held back then."""

from __future__ import annotations

import dataclasses

# Reasons for which a device runs below the clock it could have (NVML's "clocks event reasons"), in our words. Being
# idle and clocks that an administrator has set are states, not disturbances, and are not among them.
THROTTLE_REASONS = ("power cap", "hardware slowdown", "software thermal", "hardware thermal", "power brake")


@dataclasses.dataclass(frozen=True)
class ClockReading:
    """All optional: a driver tells what it tells."""

    sm_megahertz: int | None = None
    memory_megahertz: int | None = None
    temperature_celsius: int | None = None
    power_watts: float | None = None
    throttle_reasons: tuple[str, ...] = ()

    @property
    def throttled(self) -> bool:
        return bool(self.throttle_reasons)
