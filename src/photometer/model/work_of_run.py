"""WorkOfRun: FLOPs and bytes of one run of a statement. MachinePeak: the machine's maximum of each per second.

Rates and the roofline come from both (analysis/rates.py).
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from photometer.model.records import NotNegative, Positive
from photometer.model.task import TaskSpec


@dataclasses.dataclass(frozen=True)
class WorkOfRun:
    """The work of a run. `flops_given` and `bytes_given` say that the author gave the number; otherwise it was counted.

    Counted bytes are those of the inputs and outputs: what a run must move if nothing is read twice.
    """

    KIND: ClassVar[str] = "work"

    task_spec: TaskSpec
    flops: NotNegative | None = None
    bytes: NotNegative | None = None
    flops_given: bool = False
    bytes_given: bool = False
    # The type that most of the FLOPs are done in: float32.
    dtype: str = ""


@dataclasses.dataclass(frozen=True)
class MachinePeak:
    """The speed of a matrix product and a copy on this machine, with a number of threads or on an accelerator."""

    KIND: ClassVar[str] = "machine_peak"

    device: str
    num_threads: Positive
    dtype: str
    flops_per_second: NotNegative
    bytes_per_second: NotNegative
    # What was measured: the processor or the card, the version of torch, and when.
    machine: str = ""
    torch: str = ""
    date: str = ""
