"""BinaryOpFuzzer: two tensors `x` and `y` of one shape, except that dimensions of `y` are sometimes 1 and broadcast."""

from __future__ import annotations

from typing import Any

from photometer.fuzzing.element_type import DEFAULT_DTYPE
from photometer.fuzzing.parameter import FuzzedParameter, ParameterAlias
from photometer.fuzzing.tensor import FuzzedTensor
from photometer.op_fuzzers.preset import (
    DIMENSIONALITY,
    MAX_ALLOCATION_BYTES,
    MAX_DIM,
    MAX_ELEMENTS,
    MIN_ELEMENTS,
    PresetFuzzer,
    any_or_power_of_two,
    random_value,
    steps,
)

# torch's fuzzer draws steps for `y` and then uses those of `x`; so does this one, to give the same tensors per seed.
_STEPS_OF_BOTH = ("x_step_0", "x_step_1", "x_step_2")


class BinaryOpFuzzer(PresetFuzzer):
    """Inputs of elementwise operations on two tensors. The limits on elements are those of `x`, the larger one."""

    idle_parameters = frozenset({"y_step_0", "y_step_1", "y_step_2"})

    def __init__(
        self,
        seed: int | None,
        dtype: Any = DEFAULT_DTYPE,
        cuda: bool = False,
        *,
        device: Any = None,
        min_elements: int = MIN_ELEMENTS,
        max_elements: int = MAX_ELEMENTS,
        max_allocation_bytes: int = MAX_ALLOCATION_BYTES,
    ) -> None:
        super().__init__(
            parameters=[
                FuzzedParameter("dim", distribution=DIMENSIONALITY, strict=True),
                any_or_power_of_two(),
                [
                    FuzzedParameter(f"y_k{i}", distribution={ParameterAlias(f"k{i}"): 0.8, 1: 0.2}, strict=True)
                    for i in range(MAX_DIM)
                ],
                steps(("x", "y")),
                random_value(),
            ],
            tensors=[
                FuzzedTensor(
                    name="x",
                    size=("k0", "k1", "k2"),
                    steps=_STEPS_OF_BOTH,
                    probability_contiguous=0.75,
                    min_elements=min_elements,
                    max_elements=max_elements,
                    max_allocation_bytes=max_allocation_bytes,
                    dim_parameter="dim",
                    dtype=dtype,
                    cuda=cuda,
                    device=device,
                ),
                FuzzedTensor(
                    name="y",
                    size=("y_k0", "y_k1", "y_k2"),
                    steps=_STEPS_OF_BOTH,
                    probability_contiguous=0.75,
                    max_allocation_bytes=max_allocation_bytes,
                    dim_parameter="dim",
                    dtype=dtype,
                    cuda=cuda,
                    device=device,
                ),
            ],
            seed=seed,
            arguments={
                "dtype": dtype,
                "cuda": cuda,
                "device": device,
                "min_elements": min_elements,
                "max_elements": max_elements,
                "max_allocation_bytes": max_allocation_bytes,
            },
        )
