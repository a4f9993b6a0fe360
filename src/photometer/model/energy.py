"""EnergyOfRun: what one run of a statement takes from a GPU's supply, by the counter of the card (NVML)."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from photometer.model.records import NotNegative, Positive
from photometer.model.task import TaskSpec


@dataclasses.dataclass(frozen=True)
class EnergyOfRun:
    """The energy of a run, which includes the idle part: the card draws that while it works, too.

    `resolution_joules` is the uncertainty from the counter's step size; `idle_watts` was drawn without work.
    """

    KIND: ClassVar[str] = "energy"

    task_spec: TaskSpec
    joules_per_run: NotNegative
    resolution_joules: NotNegative
    watts: NotNegative
    idle_watts: NotNegative
    runs: Positive
    seconds: NotNegative
