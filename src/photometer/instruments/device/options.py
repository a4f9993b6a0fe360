"""DeviceOptions: the options of a device measurement, checked when they are created."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from photometer.errors import DefinitionError
from photometer.instruments.stopping import Precise, RunFor, StoppingRule

SourceChoice = Literal["auto", "events", "profiler"]


@dataclass(frozen=True)
class DeviceOptions:
    """`min_run_time` is in seconds per mode. With `source` "auto" the length of the kernels decides how they are timed.

    `bytes_per_run` and `flops_per_run` are what the statement moves and computes; with them the result has rates, and
    shares of the peaks measured on this card. `flops_dtype` is the type of the matrix product that measures the peak.
    """

    min_run_time: float = 0.2
    precision: float | None = None
    max_run_time: float = 10.0
    source: SourceChoice = "auto"
    bytes_per_run: float | None = None
    flops_per_run: float | None = None
    flops_dtype: str = "bfloat16"

    def __post_init__(self) -> None:
        self.stopping_rule()
        if not self.min_run_time > 0:
            raise DefinitionError(f"min_run_time must be positive, not {self.min_run_time!r}", remedy="Give seconds.")
        if self.source not in get_args(SourceChoice):
            raise DefinitionError(
                f"source is {self.source!r}", remedy=f"Give one of {', '.join(get_args(SourceChoice))}."
            )
        for name in ("bytes_per_run", "flops_per_run"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise DefinitionError(f"{name} must be positive, not {value!r}", remedy="Leave it out if unknown.")

    def stopping_rule(self) -> StoppingRule:
        if self.precision is None:
            return RunFor(self.min_run_time)
        return Precise(self.precision, self.min_run_time, self.max_run_time)
