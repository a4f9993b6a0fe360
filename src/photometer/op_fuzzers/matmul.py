"""MatmulFuzzer: `x` of m by k and `y` of k by n, each sometimes transposed in memory, with or without batches."""

from __future__ import annotations

from typing import Any

from photometer.fuzzing.element_type import DEFAULT_DTYPE
from photometer.fuzzing.parameter import FuzzedParameter, ParameterAlias
from photometer.fuzzing.tensor import FuzzedTensor
from photometer.op_fuzzers.preset import MAX_ALLOCATION_BYTES, PresetFuzzer, any_or_power_of_two

MAX_SIZE = 16 * 1024
MAX_BATCH = 256
# This many multiplications and additions take about a tenth of a second on a few cores.
MAX_FLOPS = 2**33


class MatmulFuzzer(PresetFuzzer):
    """Inputs of `x @ y`: thin, wide and square matrices, and vectors as matrices of one row or column.

    Parameters: `m`, `n`, `k`; with `batched`, `batch` and `y_batch`, which is sometimes 1 and broadcasts.
    """

    def __init__(
        self,
        seed: int | None,
        dtype: Any = DEFAULT_DTYPE,
        cuda: bool = False,
        *,
        batched: bool = False,
        device: Any = None,
        max_flops: int = MAX_FLOPS,
        max_allocation_bytes: int = MAX_ALLOCATION_BYTES,
    ) -> None:
        def affordable(params: dict[str, Any]) -> bool:
            return bool(2 * params.get("batch", 1) * params["m"] * params["n"] * params["k"] <= max_flops)

        shared = {"dtype": dtype, "cuda": cuda, "device": device, "max_allocation_bytes": max_allocation_bytes}

        def matrix(name: str, *size: str) -> FuzzedTensor:
            return FuzzedTensor(name, size if batched else size[1:], **shared)

        batch = [
            FuzzedParameter("batch", 2, MAX_BATCH, "loguniform"),
            FuzzedParameter("y_batch", distribution={ParameterAlias("batch"): 0.7, 1: 0.3}, strict=True),
        ]
        super().__init__(
            parameters=[
                any_or_power_of_two(3, 1, MAX_SIZE, prefix="size"),
                FuzzedParameter("m", distribution={ParameterAlias("size0"): 0.9, 1: 0.1}, strict=True),
                FuzzedParameter("n", distribution={ParameterAlias("size1"): 0.9, 1: 0.1}, strict=True),
                FuzzedParameter(
                    "k", distribution={ParameterAlias("size2"): 0.8, ParameterAlias("size0"): 0.2}, strict=True
                ),
                batch if batched else [],
            ],
            tensors=[matrix("x", "batch", "m", "k"), matrix("y", "y_batch", "k", "n")],
            constraints=[affordable],
            seed=seed,
            arguments={"batched": batched, "max_flops": max_flops, **shared},
        )
