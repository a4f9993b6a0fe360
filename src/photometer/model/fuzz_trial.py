"""FuzzTrial: one fuzzed input, its description, and its times. The unit of a fuzz run, its file and its map.

It has plain values alone: no tensor travels, only its description. FuzzTrial.KIND is its kind in a results file.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import ClassVar

from photometer.errors import MeasurementError

Plain = bool | int | float | str
# No two times differ more: a century and a femtosecond by e**56.
LARGEST_LOG_RATIO = 100.0


@dataclasses.dataclass(frozen=True)
class TensorFacts:
    """The properties that matter for a tensor's speed.

    `traits` are flags and numbers of one kind of tensor, such as density.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    is_contiguous: bool | None = None
    traits: Mapping[str, Plain] = dataclasses.field(default_factory=dict)

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    @property
    def text(self) -> str:
        """Return `x 16×1024`, and `not contiguous` behind it if it is not."""
        size = "×".join(str(length) for length in self.shape) or "scalar"
        return f"{self.name} {size}" + (" not contiguous" if self.is_contiguous is False else "")


@dataclasses.dataclass(frozen=True)
class TrialFailure:
    """A failure: in which statement (or in making the input), and how."""

    where: str
    exception_type: str
    message: str
    traceback: str


@dataclasses.dataclass(frozen=True)
class FuzzTrial:
    """One input. `seconds_per_run` has a time for each statement; it is empty if the input failed.

    `log_ratio` is the log of the first statement's time over the second's; None if there is only one statement.
    """

    KIND: ClassVar[str] = "fuzz_trial"

    index: int
    params: Mapping[str, Plain]
    tensors: tuple[TensorFacts, ...]
    rebuild_line: str
    seconds_per_run: tuple[float, ...] = ()
    log_ratio: float | None = None
    standard_error: float | None = None
    failure: TrialFailure | None = None

    def __post_init__(self) -> None:
        if self.log_ratio is not None and not abs(self.log_ratio) <= LARGEST_LOG_RATIO:
            raise MeasurementError(f"the log of the ratio of input {self.index} is {self.log_ratio:g}")

    @property
    def elements(self) -> int:
        """Elements of the largest tensor."""
        return max((tensor.numel for tensor in self.tensors), default=0)

    @property
    def is_contiguous(self) -> bool:
        """Return whether no tensor is known to have gaps."""
        return all(tensor.is_contiguous is not False for tensor in self.tensors)

    @property
    def text(self) -> str:
        """Return the tensors in words."""
        return ", ".join(tensor.text for tensor in self.tensors) or f"input {self.index}"
