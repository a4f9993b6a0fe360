"""ReductionFuzzer: one tensor `x` of one to four dimensions and an `axis` to reduce: first, last or in between."""

from __future__ import annotations

from typing import Any

from photometer.fuzzing.element_type import DEFAULT_DTYPE
from photometer.fuzzing.parameter import FuzzedParameter
from photometer.fuzzing.tensor import FuzzedTensor
from photometer.op_fuzzers.preset import (
    MAX_ALLOCATION_BYTES,
    MAX_ELEMENTS,
    MIN_ELEMENTS,
    PresetFuzzer,
    any_or_power_of_two,
)

MAX_DIM = 4
# Sizes start at 1, so that long thin and short wide reductions happen in every dimension.
MAX_DIM_SIZE = 4 * 1024**2


class ReductionFuzzer(PresetFuzzer):
    """Inputs of `x.sum(axis, keepdim=keepdim)` and similar reductions.

    Parameters: `dim` (1 to 4), `k0` to `k3`, `axis` (within `dim`, or negative), `keepdim`.
    """

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
        def axis_exists(params: dict[str, Any]) -> bool:
            return bool(-params["dim"] <= params["axis"] < params["dim"])

        super().__init__(
            parameters=[
                FuzzedParameter("dim", distribution={1: 0.2, 2: 0.4, 3: 0.3, 4: 0.1}, strict=True),
                any_or_power_of_two(MAX_DIM, 1, MAX_DIM_SIZE),
                FuzzedParameter("axis", distribution={-1: 0.4, 0: 0.3, 1: 0.2, 2: 0.1}),
                FuzzedParameter("keepdim", distribution={False: 0.5, True: 0.5}),
            ],
            tensors=[
                FuzzedTensor(
                    name="x",
                    size=("k0", "k1", "k2", "k3"),
                    probability_contiguous=0.7,
                    min_elements=min_elements,
                    max_elements=max_elements,
                    max_allocation_bytes=max_allocation_bytes,
                    dim_parameter="dim",
                    dtype=dtype,
                    cuda=cuda,
                    device=device,
                ),
            ],
            constraints=[axis_exists],
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
