"""Conditions: what the instrument noticed while it measured. It travels with the samples and is judged with them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from photometer.errors import ResultsFileError


@dataclasses.dataclass(frozen=True)
class Conditions:
    """All optional: an instrument fills in what it can know."""

    clock_resolution_seconds: float | None = None
    loop_overhead_seconds_per_run: float | None = None
    warmup_runs: int | None = None
    warmed_up: bool | None = None
    stopped_because: str | None = None
    wall_seconds: float | None = None
    cpu_seconds: float | None = None
    preemptions: int | None = None
    preempted_blocks: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {k: v for k, v in dataclasses.asdict(self).items() if v is not None}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Conditions:
        known = {field.name for field in dataclasses.fields(cls)}
        values: dict[str, Any] = {}
        for name in known & set(record):
            value = record[name]
            wanted = str if name == "stopped_because" else (int, float)
            if not isinstance(value, wanted):
                raise ResultsFileError(f"conditions.{name} has an unexpected value {value!r}")
            values[name] = value
        return cls(**values)
