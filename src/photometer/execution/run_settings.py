"""RunSettings: how a plan is to be run: what is measured, for how long, on which cores, in which environment."""

from __future__ import annotations

import dataclasses

from photometer.definition.axes import SweepAxis
from photometer.errors import DefinitionError
from photometer.model.environment import Environment

# torch's default for blocked_autorange.
DEFAULT_MIN_RUN_TIME = 0.2
# Each order's time is measured in this many visits, spread over the run. See docs/repeatability.md.
VISITS = 8
# They start from one state and are equal; the second shows a statement that draws something at random.
DEFAULT_REPEATS = 2


@dataclasses.dataclass(frozen=True)
class RunSettings:
    """`cores` are the numbers of the logical processors to use; none means all that this process may use."""

    wall: bool = True
    instructions: bool = True
    min_run_time: float = DEFAULT_MIN_RUN_TIME
    repeats: int = DEFAULT_REPEATS
    cores: tuple[int, ...] = ()
    environment: Environment = dataclasses.field(default_factory=Environment.current)
    # Of a suite of rungs: each measured live beside the one it stands on, after all else.
    ladder: bool = True
    # What a run allocates; exact, and cheap beside the rest.
    memory: bool = False
    # Of compiled variants: their report, and how they compare with the eager one, measured in pairs.
    compiled: bool = True
    # What compiling took and met; without it only the comparison is made.
    compile_report: bool = True
    # The work of each order beside its time, and the machine's peak; the energy that a GPU takes.
    rates: bool = False
    energy: bool = False
    # Values in place of a suite's own sizes, and a filter of the points.
    axes: tuple[SweepAxis, ...] = ()
    where: str | None = None

    def __post_init__(self) -> None:
        if not self.wall and not self.instructions and not self.memory:
            raise DefinitionError("neither wall time nor instructions are asked for", remedy="Leave one of them on.")
        if not self.min_run_time > 0:
            raise DefinitionError("min_run_time must be positive", remedy="Give seconds, such as 0.2.")
        if self.repeats < 1:
            raise DefinitionError("repeats must be at least 1", remedy=f"Give a number such as {DEFAULT_REPEATS}.")

    @property
    def steps(self) -> tuple[str, ...]:
        """Return what is measured of every order, in this order."""
        return (
            *(("compile",) if self.compiled and self.compile_report and self.wall else ()),
            *(("time", "device") if self.wall else ()),
            *(("memory",) if self.memory else ()),
            *(("count",) if self.instructions else ()),
        )

    @property
    def measures_speedups(self) -> bool:
        """Return whether compiled variants are compared with eager ones."""
        return self.wall and self.compiled

    @property
    def measures_ladder(self) -> bool:
        """Return whether the rungs of a ladder are compared with each other."""
        return self.wall and self.ladder
