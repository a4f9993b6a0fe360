"""UnaryOpSparseFuzzer: one sparse tensor `x`, hybrid or not, coalesced or not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from photometer.fuzzing.parameter import FuzzedParameter
from photometer.fuzzing.sparse_tensor import FuzzedSparseTensor
from photometer.fuzzing.tensor import FuzzedTensor
from photometer.op_fuzzers.preset import DIMENSIONALITY, LimitedFuzzer, any_or_power_of_two, random_value


class UnaryOpSparseFuzzer(LimitedFuzzer):
    """Inputs of operations on one sparse tensor.

    torch's fuzzer of this name has no limit on bytes and asks for terabytes in some draws; here those are redrawn.
    """

    def _drawn(self) -> list[FuzzedParameter | Iterable[FuzzedParameter]]:
        return sparse_parameters()

    def _made(self, limits: dict[str, Any]) -> list[FuzzedTensor]:
        return [sparse_tensor("x", ("k0", "k1", "k2"), limits)]


def sparse_parameters(*of_others: FuzzedParameter) -> list[FuzzedParameter | Iterable[FuzzedParameter]]:
    """Return what is drawn for sparse tensors of one form; the sizes of others come after those of `x`."""
    return [
        FuzzedParameter("dim_parameter", distribution=DIMENSIONALITY, strict=True),
        FuzzedParameter("sparse_dim", distribution={1: 0.4, 2: 0.4, 3: 0.2}, strict=True),
        any_or_power_of_two(),
        of_others,
        FuzzedParameter("density", distribution={0.1: 0.4, 0.05: 0.3, 0.01: 0.3}),
        FuzzedParameter("coalesced", distribution={True: 0.5, False: 0.5}),
        random_value(),
    ]


def sparse_tensor(name: str, size: tuple[str, ...], limits: dict[str, Any]) -> FuzzedSparseTensor:
    """Return a tensor of these sizes that takes its form from `sparse_parameters`."""
    return FuzzedSparseTensor(
        name,
        size,
        dim_parameter="dim_parameter",
        sparse_dim="sparse_dim",
        density="density",
        coalesced="coalesced",
        **limits,
    )
