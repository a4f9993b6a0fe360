"""ClockReading: what an accelerator's own sensors said while a block ran, and whether it was held back then."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from photometer.errors import ResultsFileError

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

    def to_json(self) -> dict[str, Any]:
        record = {name: value for name, value in dataclasses.asdict(self).items() if value not in (None, ())}
        if self.throttle_reasons:
            record["throttle_reasons"] = list(self.throttle_reasons)
        return record

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ClockReading:
        reasons = record.get("throttle_reasons", [])
        numbers = {name: record.get(name) for name in _NUMBERS}
        for name, value in numbers.items():
            if value is not None and (not isinstance(value, int | float) or isinstance(value, bool)):
                raise ResultsFileError(f"clocks.{name} should be a number, found {value!r}")
        if not isinstance(reasons, list) or not all(isinstance(reason, str) for reason in reasons):
            raise ResultsFileError(f"clocks.throttle_reasons should be a list of words, found {reasons!r}")
        return cls(**numbers, throttle_reasons=tuple(reasons))


_NUMBERS = ("sm_megahertz", "memory_megahertz", "temperature_celsius", "power_watts")
