"""Visit: blocks of one statement timed in one fresh process, and the measurement that several visits make together.

A run times each order in visits that are spread over it (execution/rounds.py). Blocks of one visit share the process,
the memory layout and the state of the machine, so that the visit, not the block, is the unit of the statistics.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any, ClassVar

from photometer.model.diagnosis import Conditions
from photometer.model.measurement import Measurement
from photometer.model.records import NotNegative, Positive
from photometer.model.task import TaskSpec


@dataclasses.dataclass(frozen=True)
class Visit:
    """Seconds of blocks of `number_per_run` runs in one process; `whole_seconds` is what the visit took in all."""

    KIND: ClassVar[str] = "visit"

    number_per_run: Positive
    block_seconds: tuple[NotNegative, ...]
    whole_seconds: NotNegative
    conditions: Conditions = Conditions()  # noqa: RUF009 - frozen, so sharing it is safe
    compile_seconds: float | None = None


def measurement_of_visits(visits: Sequence[Visit], task_spec: TaskSpec) -> Measurement:
    """Return one measurement of all blocks, in the order measured; it knows which of them are of one visit."""
    number = visits[0].number_per_run
    # Only an interrupted run that was continued elsewhere may have two numbers of runs per block.
    alike = [visit for visit in visits if visit.number_per_run == number]
    blocks = list(itertools.chain.from_iterable(visit.block_seconds for visit in alike))
    compiled = [visit.compile_seconds for visit in alike if visit.compile_seconds is not None]
    metadata: dict[Any, Any] | None = {"compile_seconds": compiled[0]} if compiled else None
    return Measurement(
        number,
        blocks,
        task_spec,
        metadata,
        _together([visit.conditions for visit in alike]),
        visit_blocks=[len(visit.block_seconds) for visit in alike],
    )


def _together(parts: Sequence[Conditions]) -> Conditions:
    """Return the conditions of all visits: counts as their sum, observations at their worst."""

    def total(name: str) -> Any:
        known = [value for part in parts if (value := getattr(part, name)) is not None]
        return sum(known) if known else None

    counted = ("warmup_runs", "wall_seconds", "cpu_seconds", "preemptions", "preempted_blocks")
    steps = [part.clock_resolution_seconds for part in parts if part.clock_resolution_seconds is not None]
    warm = [part.warmed_up for part in parts if part.warmed_up is not None]
    left = [part.left_processes for part in parts if part.left_processes is not None]
    return Conditions(
        clock_resolution_seconds=max(steps, default=None),
        warmed_up=all(warm) if warm else None,
        stopped_because=f"{len(parts)} visits" if len(parts) > 1 else "1 visit",
        left_processes=max(left, default=None),
        **{name: total(name) for name in counted},
    )
