"""EnergyOfRun: what one run of a statement takes from a GPU's supply, by the counter of the card (NVML)."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from photometer.model.records import NotNegative, Positive
from photometer.model.task import TaskSpec


@dataclasses.dataclass(frozen=True)
class EnergyOfRun:
    """`resolution_joules` is what the counter's steps leave unknown of one run; `idle_watts` was drawn without work.

    The energy of a run has the idle part in it: the card draws it while it works, too.
    """

    KIND: ClassVar[str] = "energy"

    task_spec: TaskSpec
    joules_per_run: NotNegative
    resolution_joules: NotNegative
    watts: NotNegative
    idle_watts: NotNegative
    runs: Positive
    seconds: NotNegative
