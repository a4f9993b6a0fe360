"""ReductionFuzzer: one tensor `x` of one to four dimensions and an `axis` to reduce: first, last or in between."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from photometer.fuzzing.fuzzer import Constraint
from photometer.fuzzing.parameter import FuzzedParameter
from photometer.fuzzing.tensor import FuzzedTensor
from photometer.op_fuzzers.preset import LimitedFuzzer, any_or_power_of_two

MAX_DIM = 4
# Sizes start at 1, so that long thin and short wide reductions happen in every dimension.
MAX_DIM_SIZE = 4 * 1024**2


class ReductionFuzzer(LimitedFuzzer):
    """Inputs of `x.sum(axis, keepdim=keepdim)` and similar reductions.

    Parameters: `dim` (1 to 4), `k0` to `k3`, `axis` (within `dim`, or negative), `keepdim`.
    """

    def _drawn(self) -> list[FuzzedParameter | Iterable[FuzzedParameter]]:
        return [
            FuzzedParameter("dim", distribution={1: 0.2, 2: 0.4, 3: 0.3, 4: 0.1}, strict=True),
            any_or_power_of_two(MAX_DIM, 1, MAX_DIM_SIZE),
            FuzzedParameter("axis", distribution={-1: 0.4, 0: 0.3, 1: 0.2, 2: 0.1}),
            FuzzedParameter("keepdim", distribution={False: 0.5, True: 0.5}),
        ]

    def _made(self, limits: dict[str, Any]) -> list[FuzzedTensor]:
        size = ("k0", "k1", "k2", "k3")
        return [FuzzedTensor("x", size, probability_contiguous=0.7, dim_parameter="dim", **limits)]

    def _kept_constraints(self) -> list[Constraint]:
        def axis_exists(params: dict[str, Any]) -> bool:
            return bool(-params["dim"] <= params["axis"] < params["dim"])

        return [axis_exists]
