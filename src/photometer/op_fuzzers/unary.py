"""UnaryOpFuzzer: one tensor `x` of one to three dimensions, sometimes permuted, sometimes strided."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from photometer.fuzzing.parameter import FuzzedParameter
from photometer.fuzzing.tensor import FuzzedTensor
from photometer.op_fuzzers.preset import DIMENSIONALITY, LimitedFuzzer, any_or_power_of_two, random_value, steps


class UnaryOpFuzzer(LimitedFuzzer):
    """Inputs of elementwise operations on one tensor."""

    def _drawn(self) -> list[FuzzedParameter | Iterable[FuzzedParameter]]:
        dim = FuzzedParameter("dim", distribution=DIMENSIONALITY, strict=True)
        return [dim, any_or_power_of_two(), steps(), random_value()]

    def _made(self, limits: dict[str, Any]) -> list[FuzzedTensor]:
        return [
            FuzzedTensor(
                "x",
                ("k0", "k1", "k2"),
                steps=("x_step_0", "x_step_1", "x_step_2"),
                probability_contiguous=0.75,
                dim_parameter="dim",
                **limits,
            )
        ]
