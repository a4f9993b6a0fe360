"""Memory of all sides of a comparison: exact, so one measurement is enough, even on a busy machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from photometer.analysis.memory_change import MemoryChange, memory_change
from photometer.comparing.observer import Observer
from photometer.comparing.source import CheckedPlan, StartedSide
from photometer.errors import PhotometerError
from photometer.instruments.memory import take_memory
from photometer.model.memory_measurement import MemoryMeasurement


@dataclasses.dataclass(frozen=True)
class MemorySuite:
    """What one run allocates, by order id and position of the side; `warnings` say what could not be measured."""

    uses: Mapping[tuple[str, int], MemoryMeasurement] = dataclasses.field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    errors: tuple[PhotometerError, ...] = ()

    def change(self, order_id: str, place: int) -> MemoryChange | None:
        """Return a side against the reference, if both were measured."""
        base, branch = self.uses.get((order_id, 0)), self.uses.get((order_id, place))
        return None if base is None or branch is None else memory_change(base, branch)


def measure_memory_of(sides: Sequence[StartedSide], checked: CheckedPlan, observer: Observer) -> MemorySuite:
    """Measure what one run of every order allocates on every side where it runs."""
    observer.stage("measuring memory")
    uses: dict[tuple[str, int], MemoryMeasurement] = {}
    errors: list[PhotometerError] = []
    for done, order in enumerate(checked.orders, start=1):
        try:
            for place, ready in sorted(checked.ready[order.id].items()):
                uses[order.id, place] = take_memory(sides[place].session, ready)
        except PhotometerError as error:
            # It ran before: timing it will show what is wrong.
            errors.append(error)
        observer.step(done, len(checked.orders))
    lacking = "1 benchmark" if len(errors) == 1 else f"{len(errors)} benchmarks"
    return MemorySuite(uses, (f"the memory of {lacking} could not be measured",) if errors else (), tuple(errors))
