"""RunSettings: how to run a plan: which instruments, for how long, on which cores, in which environment."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from photometer.definition.axes import SweepAxis
from photometer.errors import DefinitionError
from photometer.instruments.declaration import DEFAULT_MIN_RUN_TIME, DEFAULT_REPEATS
from photometer.instruments.registry import asked_for, options
from photometer.model.machine import Environment


@dataclasses.dataclass(frozen=True)
class RunSettings:
    """`options` switch instruments on and off, by the names that their options have: `{"memory": True}`.

    `cores` are the numbers of the logical processors to use; none means all that this process may use.
    """

    options: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    min_run_time: float = DEFAULT_MIN_RUN_TIME
    repeats: int = DEFAULT_REPEATS
    cores: tuple[int, ...] = ()
    environment: Environment = dataclasses.field(default_factory=Environment.current)
    # Of a suite of rungs: each measured in the same moments as the one it stands on.
    ladder: bool = True
    # Of compiled variants: their report, and their speed-up over the eager one.
    compiled: bool = True
    # Values in place of a suite's own sizes, and a filter of the points.
    axes: tuple[SweepAxis, ...] = ()
    where: str | None = None
    # One visit per order, and no measurement until a later run has taken the others.
    quick: bool = False
    # Of random data, in all processes; None is a fixed one for all but times, which have another for each visit.
    seed: int | None = None

    def __post_init__(self) -> None:
        known = {option.name: option for option in options()}
        unknown = self.options.keys() - known.keys()
        if unknown:
            raise DefinitionError(
                f"there is no instrument with the option {', '.join(sorted(unknown))}",
                remedy=f"Known are {', '.join(sorted(known))}.",
            )
        if not any(each.option is not None for each in asked_for(self.options)):
            raise DefinitionError("neither wall time nor instructions are requested", remedy="Leave one of them on.")
        if not self.min_run_time > 0:
            raise DefinitionError("min_run_time must be positive", remedy="Give seconds, such as 0.2.")
        if self.repeats < 1:
            raise DefinitionError("repeats must be at least 1", remedy=f"Give a number such as {DEFAULT_REPEATS}.")

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the steps of every order, in the order in which they are measured."""
        chosen = {**self.options, "ladder": self.ladder, "compiled": self.compiled}
        # What is measured against other orders is for whole measurements.
        return tuple(each.name for each in asked_for(chosen) if each.against is None or not self.quick)
