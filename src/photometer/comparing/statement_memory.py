"""Memory of the statements of a comparison: what one run of each allocates.

In: an AbRequest of text. Out: a MemoryMeasurement per statement, in their order. The figures are exact, even on
a busy machine, so every difference is real.
"""

from __future__ import annotations

import dataclasses

from photometer.comparing.statements import AbRequest, preparations
from photometer.errors import DefinitionError
from photometer.instruments.memory import memory_in_child
from photometer.model.memory_measurement import MemoryMeasurement
from photometer.model.task import TaskSpec
from photometer.session.session import Session
from photometer.worker.messages import ANY_DEVICE


def measure_memories(request: AbRequest) -> list[MemoryMeasurement]:
    """Measure each statement in a separate fork, and on the accelerator that it uses, if any."""
    if any(contender.names for contender in request.contenders):
        raise DefinitionError(
            "memory can be measured only for text here: another process does not have the objects of this one",
            remedy="Give the statements as text with their set-up, or use Timer(…).measure_memory().",
        )
    found = []
    with Session(request.environment) as session:
        for contender, prepare in zip(request.contenders, preparations(request), strict=True):
            spec = TaskSpec(
                contender.stmt,
                contender.setup,
                request.global_setup,
                description=contender.name if contender.name != contender.stmt else None,
                num_threads=request.num_threads,
            )
            with session.child() as child:
                found.append(memory_in_child(child, dataclasses.replace(prepare, device=ANY_DEVICE), spec))
    return found
