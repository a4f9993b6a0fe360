"""BinaryOpSparseFuzzer: two sparse tensors `x` and `y` of one shape, density and form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from photometer.fuzzing.parameter import FuzzedParameter, ParameterAlias
from photometer.fuzzing.tensor import FuzzedTensor
from photometer.op_fuzzers.preset import MAX_DIM, LimitedFuzzer
from photometer.op_fuzzers.sparse_unary import sparse_parameters, sparse_tensor


class BinaryOpSparseFuzzer(LimitedFuzzer):
    """Inputs of operations on two sparse tensors.

    torch's fuzzer of this name has no limit on bytes and asks for terabytes in some draws; here those are redrawn.
    """

    def _drawn(self) -> list[FuzzedParameter | Iterable[FuzzedParameter]]:
        return sparse_parameters(
            *(
                FuzzedParameter(f"y_k{i}", distribution={ParameterAlias(f"k{i}"): 1.0}, strict=True)
                for i in range(MAX_DIM)
            )
        )

    def _made(self, limits: dict[str, Any]) -> list[FuzzedTensor]:
        sizes = {"x": ("k0", "k1", "k2"), "y": ("y_k0", "y_k1", "y_k2")}
        return [sparse_tensor(name, size, limits) for name, size in sizes.items()]
