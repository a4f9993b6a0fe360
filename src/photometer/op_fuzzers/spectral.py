"""SpectralOpFuzzer: one tensor `x` whose sizes suit Fourier transforms: only the prime factors 2, 3 and 5, or any."""

from __future__ import annotations

from typing import Any

from photometer.fuzzing.parameter import FuzzedParameter, ParameterAlias
from photometer.fuzzing.tensor import FuzzedTensor
from photometer.op_fuzzers.preset import (
    DIMENSIONALITY,
    MAX_ALLOCATION_BYTES,
    MAX_DIM,
    MAX_ELEMENTS,
    MIN_ELEMENTS,
    STEPS,
    PresetFuzzer,
)

MIN_DIM_SIZE = 16
MAX_DIM_SIZE = 16 * 1024


def _is_regular(number: int) -> bool:
    for prime in (2, 3, 5):
        while number % prime == 0:
            number //= prime
    return number == 1


# Transforms are fastest at these. The smallest size is left out, as in torch's list.
REGULAR_SIZES = [size for size in range(MIN_DIM_SIZE + 1, MAX_DIM_SIZE + 1) if _is_regular(size)]
_DEFAULT_DTYPE = "float64"


class SpectralOpFuzzer(PresetFuzzer):
    """Inputs of Fourier transforms; each size is regular with `probability_regular`."""

    def __init__(
        self,
        *,
        seed: int | None,
        dtype: Any = _DEFAULT_DTYPE,
        cuda: bool = False,
        probability_regular: float = 1.0,
        device: Any = None,
        min_elements: int = MIN_ELEMENTS,
        max_elements: int = MAX_ELEMENTS,
        max_allocation_bytes: int = MAX_ALLOCATION_BYTES,
    ) -> None:
        dims = range(MAX_DIM)
        limits = {
            "dtype": dtype,
            "cuda": cuda,
            "device": device,
            "min_elements": min_elements,
            "max_elements": max_elements,
            "max_allocation_bytes": max_allocation_bytes,
        }
        super().__init__(
            parameters=[
                FuzzedParameter("ndim", distribution=DIMENSIONALITY, strict=True),
                [FuzzedParameter(f"k_any_{i}", MIN_DIM_SIZE, MAX_DIM_SIZE, "loguniform") for i in dims],
                [
                    FuzzedParameter(
                        f"k_regular_{i}", distribution=dict.fromkeys(REGULAR_SIZES, 1.0 / len(REGULAR_SIZES))
                    )
                    for i in dims
                ],
                [
                    FuzzedParameter(
                        f"k{i}",
                        distribution={
                            ParameterAlias(f"k_regular_{i}"): probability_regular,
                            ParameterAlias(f"k_any_{i}"): 1 - probability_regular,
                        },
                        strict=True,
                    )
                    for i in dims
                ],
                [FuzzedParameter(f"step_{i}", distribution=STEPS) for i in dims],
            ],
            tensors=[
                FuzzedTensor(
                    name="x",
                    size=("k0", "k1", "k2"),
                    steps=("step_0", "step_1", "step_2"),
                    probability_contiguous=0.75,
                    dim_parameter="ndim",
                    **limits,
                ),
            ],
            seed=seed,
            arguments={"probability_regular": probability_regular, **limits},
        )
