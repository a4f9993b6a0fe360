"""Conditions: what the instrument noticed while it measured. It travels with the samples and is judged with them."""

from __future__ import annotations

import dataclasses


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
