"""ProcessorCounts: instructions as the processor itself counted them, at full speed: a second source beside Callgrind.

They are not exact (interrupts, the memory layout) and not per function, but need no Valgrind and know AVX-512.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import ClassVar

from photometer.errors import MeasurementError
from photometer.model.records import Positive
from photometer.model.task import TaskSpec
from photometer.model.units import percent
from photometer.model.visible_text import visible


@dataclass(frozen=True)
class ProcessorCounts:
    """Instructions in user mode of each repeat of `number_per_run` runs, and of as many runs of nothing."""

    KIND: ClassVar[str] = "processor_counts"

    task_spec: TaskSpec
    number_per_run: Positive
    instructions: tuple[int, ...]
    loop_instructions: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.instructions or not self.loop_instructions:
            raise MeasurementError("processor counts need at least one repeat")

    @property
    def instructions_per_run(self) -> float:
        """The difference of the medians, divided by the runs."""
        own = statistics.median(self.instructions) - statistics.median(self.loop_instructions)
        return own / self.number_per_run

    @property
    def spread(self) -> float:
        """Largest less smallest repeat, as a share of the median."""
        return (max(self.instructions) - min(self.instructions)) / (statistics.median(self.instructions) or 1)

    def __repr__(self) -> str:
        return f"<photometer.ProcessorCounts {self.instructions_per_run:,.1f} per run, spread {percent(self.spread)}>"

    def __str__(self) -> str:
        repeats = f"{len(self.instructions)} repeats of {self.number_per_run} runs"
        return (
            f"{visible(self.task_spec.summarize())}\n"
            f"  {self.instructions_per_run:>14,.1f} instructions per run, counted by the processor\n"
            f"  {repeats}, spread {percent(self.spread)}"
        )
