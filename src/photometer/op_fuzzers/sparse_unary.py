"""UnaryOpSparseFuzzer: one sparse tensor `x`, hybrid or not, coalesced or not."""

from __future__ import annotations

from typing import Any

from photometer.fuzzing.element_type import DEFAULT_DTYPE
from photometer.fuzzing.parameter import FuzzedParameter
from photometer.fuzzing.sparse_tensor import FuzzedSparseTensor
from photometer.op_fuzzers.preset import (
    DIMENSIONALITY,
    MAX_ALLOCATION_BYTES,
    MAX_ELEMENTS,
    MIN_ELEMENTS,
    PresetFuzzer,
    any_or_power_of_two,
    random_value,
)


class UnaryOpSparseFuzzer(PresetFuzzer):
    """Inputs of operations on one sparse tensor.

    torch's fuzzer of this name has no limit on bytes and asks for terabytes in some draws; here those are redrawn.
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
        super().__init__(
            parameters=[
                FuzzedParameter("dim_parameter", distribution=DIMENSIONALITY, strict=True),
                FuzzedParameter("sparse_dim", distribution={1: 0.4, 2: 0.4, 3: 0.2}, strict=True),
                any_or_power_of_two(),
                FuzzedParameter("density", distribution={0.1: 0.4, 0.05: 0.3, 0.01: 0.3}),
                FuzzedParameter("coalesced", distribution={True: 0.5, False: 0.5}),
                random_value(),
            ],
            tensors=[
                FuzzedSparseTensor(
                    name="x",
                    size=("k0", "k1", "k2"),
                    min_elements=min_elements,
                    max_elements=max_elements,
                    dim_parameter="dim_parameter",
                    sparse_dim="sparse_dim",
                    density="density",
                    coalesced="coalesced",
                    dtype=dtype,
                    cuda=cuda,
                    max_allocation_bytes=max_allocation_bytes,
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
