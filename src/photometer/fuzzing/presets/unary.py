"""UnaryOpFuzzer: one tensor `x` of one to three dimensions, sometimes permuted, sometimes strided."""

from __future__ import annotations

from typing import Any

from photometer.fuzzing.element_type import DEFAULT_DTYPE
from photometer.fuzzing.parameter import FuzzedParameter
from photometer.fuzzing.presets import dimensions
from photometer.fuzzing.presets.preset import PresetFuzzer
from photometer.fuzzing.tensor import FuzzedTensor


class UnaryOpFuzzer(PresetFuzzer):
    """Inputs of elementwise operations on one tensor."""

    def __init__(
        self,
        seed: int | None,
        dtype: Any = DEFAULT_DTYPE,
        cuda: bool = False,
        *,
        device: Any = None,
        min_elements: int = dimensions.MIN_ELEMENTS,
        max_elements: int = dimensions.MAX_ELEMENTS,
        max_allocation_bytes: int = dimensions.MAX_ALLOCATION_BYTES,
    ) -> None:
        super().__init__(
            parameters=[
                FuzzedParameter("dim", distribution=dimensions.DIMENSIONALITY, strict=True),
                dimensions.any_or_power_of_two(),
                dimensions.steps(),
                dimensions.random_value(),
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
