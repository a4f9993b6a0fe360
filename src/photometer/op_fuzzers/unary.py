"""UnaryOpFuzzer: one tensor `x` of one to three dimensions, sometimes permuted, sometimes strided."""

from __future__ import annotations

from typing import Any

from photometer.fuzzing.element_type import DEFAULT_DTYPE
from photometer.fuzzing.parameter import FuzzedParameter
from photometer.fuzzing.tensor import FuzzedTensor
from photometer.op_fuzzers.preset import (
    DIMENSIONALITY,
    MAX_ALLOCATION_BYTES,
    MAX_ELEMENTS,
    MIN_ELEMENTS,
    PresetFuzzer,
    any_or_power_of_two,
    random_value,
    steps,
)


class UnaryOpFuzzer(PresetFuzzer):
    """Inputs of elementwise operations on one tensor."""

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
                steps(),
                random_value(),
            ],
            tensors=[
                FuzzedTensor(
                    name="x",
                    size=("k0", "k1", "k2"),
                    steps=("x_step_0", "x_step_1", "x_step_2"),
                    probability_contiguous=0.75,
                    min_elements=min_elements,
                    max_elements=max_elements,
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
