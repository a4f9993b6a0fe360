"""BinaryOpFuzzer: two tensors `x` and `y` of one shape, except that dimensions of `y` are sometimes 1 and broadcast."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from photometer.fuzzing.parameter import FuzzedParameter, ParameterAlias
from photometer.fuzzing.tensor import FuzzedTensor
from photometer.op_fuzzers.preset import (
    DIMENSIONALITY,
    MAX_DIM,
    LimitedFuzzer,
    any_or_power_of_two,
    random_value,
    steps,
)

# torch's fuzzer draws steps for `y` and then uses those of `x`; so does this one, to give the same tensors per seed.
_STEPS_OF_BOTH = ("x_step_0", "x_step_1", "x_step_2")


class BinaryOpFuzzer(LimitedFuzzer):
    """Inputs of elementwise operations on two tensors. The limits on elements are those of `x`, the larger one."""

    idle_parameters = frozenset({"y_step_0", "y_step_1", "y_step_2"})

    def _drawn(self) -> list[FuzzedParameter | Iterable[FuzzedParameter]]:
        of_y = [
            FuzzedParameter(f"y_k{i}", distribution={ParameterAlias(f"k{i}"): 0.8, 1: 0.2}, strict=True)
            for i in range(MAX_DIM)
        ]
        dim = FuzzedParameter("dim", distribution=DIMENSIONALITY, strict=True)
        return [dim, any_or_power_of_two(), of_y, steps(("x", "y")), random_value()]

    def _made(self, limits: dict[str, Any]) -> list[FuzzedTensor]:
        form: dict[str, Any] = {"steps": _STEPS_OF_BOTH, "probability_contiguous": 0.75, "dim_parameter": "dim"}
        of_y = {**limits, "min_elements": None, "max_elements": None}
        return [
            FuzzedTensor("x", ("k0", "k1", "k2"), **form, **limits),
            FuzzedTensor("y", ("y_k0", "y_k1", "y_k2"), **form, **of_y),
        ]
