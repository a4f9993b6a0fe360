"""Values read from the variables of runs: own metrics of a statement, and the seconds of the phases of a step."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from photometer.model.records import NotNegative
from photometer.model.task import TaskSpec
from photometer.stats.summary import quantile


@dataclasses.dataclass(frozen=True)
class MetricValues:
    """The values of one metric, one per run."""

    name: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return quantile(sorted(self.values), 0.5)


@dataclasses.dataclass(frozen=True)
class ObservedMetrics:
    """Numbers that a statement left in the variables that `metrics=` names."""

    KIND: ClassVar[str] = "metrics"

    task_spec: TaskSpec
    metrics: tuple[MetricValues, ...]


@dataclasses.dataclass(frozen=True)
class PhaseSeconds:
    """The seconds of one phase, one per run."""

    name: str
    seconds: tuple[NotNegative, ...]

    @property
    def median(self) -> float:
        return quantile(sorted(self.seconds), 0.5)


@dataclasses.dataclass(frozen=True)
class PhaseTimes:
    """The phases of a step, in their order. A clock is read between them, and an accelerator is waited for."""

    KIND: ClassVar[str] = "phases"

    task_spec: TaskSpec
    phases: tuple[PhaseSeconds, ...]
