"""OrderFigures: the figures of one work order besides its time, as plain values that can be sent to other processes.

In: a group and the labels of a variant. Out: FLOPs and bytes of one run if the author gave them, the variables to read
after a run, and the statement with a clock between its phases.
"""

from __future__ import annotations

import dataclasses

from photometer.definition.asked_figures import NO_FIGURES, Phase
from photometer.definition.grouped import GroupedBenchmark
from photometer.model.task import Language
from photometer.plan.auto_labels import AutoLabels, RuntimeMode

# The statement of phases reads this clock; the set-up before it makes it.
CLOCK = "photometer_clock"


@dataclasses.dataclass(frozen=True)
class OrderFigures:
    """`phase_stmt` leaves the clock's readings in the variables `marks`: one more than there are phases."""

    flops: float | None = None
    bytes: float | None = None
    metrics: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    phase_stmt: str = ""
    instructions: bool = True
    # The collective that one run is, if the author said so: its bandwidth on the bus follows from `bytes`.
    collective: str = ""

    @property
    def marks(self) -> tuple[str, ...]:
        return tuple(f"photometer_mark_{number}" for number in range(len(self.phases) + 1))


def order_figures(benchmark: GroupedBenchmark, auto: AutoLabels) -> OrderFigures | None:
    """Return the figures to read of the variant; None if there are none. C++ has no variables that could be read."""
    asked = benchmark.figures
    if asked == NO_FIGURES:
        return None
    # A compiled or scripted step is one piece: its phases cannot be separated, nor its variables read.
    eager = auto.language is Language.PYTHON and auto.runtime is RuntimeMode.EAGER
    metrics = asked.metrics if eager else ()
    phases = asked.phases if eager else ()
    return OrderFigures(
        flops=asked.amount_at("flops", auto.sizes),
        bytes=asked.amount_at("bytes", auto.sizes),
        metrics=metrics,
        phases=tuple(phase.name for phase in phases),
        phase_stmt=_marked(phases),
        instructions=asked.instructions,
        collective=asked.collective or "",
    )


def phase_setup(synchronize: str = "") -> str:
    """Return the line that makes the clock of phases. `synchronize` is code that waits for an accelerator."""
    lines = ["import time as photometer_time", f"def {CLOCK}():"]
    lines += [f"    {synchronize}"] if synchronize else []
    return "\n".join([*lines, "    return photometer_time.perf_counter()"])


def _marked(phases: tuple[Phase, ...]) -> str:
    if not phases:
        return ""
    lines = [f"photometer_mark_0 = {CLOCK}()"]
    for number, phase in enumerate(phases, start=1):
        lines += [phase.stmt, f"photometer_mark_{number} = {CLOCK}()"]
    return "\n".join(lines)
