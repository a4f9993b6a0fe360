"""Memory of both sides of a comparison: exact, so one measurement is enough, even on a busy machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from photometer.analysis.memory_change import MemoryChange, memory_change
from photometer.comparing.observer import Observer
from photometer.comparing.preflight import CheckedPlan, StartedSides
from photometer.errors import PhotometerError
from photometer.execution.memory_order import take_memory


@dataclasses.dataclass(frozen=True)
class MemorySuite:
    """The change of each order by id; `warnings` say what could not be measured."""

    changes: Mapping[str, MemoryChange] = dataclasses.field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def measure_memory_of(sides: StartedSides, checked: CheckedPlan, observer: Observer) -> MemorySuite:
    """Measure what one run of every order allocates on both sides."""
    observer.stage("measuring the memory of both sides")
    changes: dict[str, MemoryChange] = {}
    problems = 0
    for done, order in enumerate(checked.orders, start=1):
        try:
            base, branch = (
                take_memory(side.session, prepared.ready[order.id])
                for side, prepared in zip(sides, checked.prepared, strict=True)
            )
        except PhotometerError:
            # It ran before: timing it will show what is wrong.
            problems += 1
            continue
        changes[order.id] = memory_change(base, branch)
        observer.step(done, len(checked.orders))
    lacking = "1 benchmark" if problems == 1 else f"{problems} benchmarks"
    return MemorySuite(changes, (f"the memory of {lacking} could not be measured",) if problems else ())
