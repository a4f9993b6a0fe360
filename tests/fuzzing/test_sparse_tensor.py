"""FuzzedSparseTensor: torch's tensors if torch can make them, and bounded ones if it cannot."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.utils.benchmark as torch_benchmark

import photometer.fuzzing as ours
from photometer.errors import DefinitionError
from photometer.fuzzing import FuzzedParameter, FuzzedSparseTensor, Fuzzer
from tests.fuzzing.torch_parity import assert_same_inputs, repaired_torch

pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks")  # of torch's own fuzzer


def _fuzzer(module: Any, seed: int, **tensor: Any) -> Any:
    return module.Fuzzer(
        parameters=[
            module.FuzzedParameter("rank", distribution={1: 0.3, 2: 0.4, 3: 0.3}, strict=True),
            module.FuzzedParameter("sparse_dim", distribution={1: 0.5, 2: 0.5}),
            [module.FuzzedParameter(f"k{i}", 2, 60, "loguniform") for i in range(3)],
            module.FuzzedParameter("density", distribution={0.5: 0.5, 0.1: 0.5}),
            module.FuzzedParameter("coalesced", distribution={True: 0.5, False: 0.5}),
        ],
        tensors=[
            module.FuzzedSparseTensor(
                "x",
                ("k0", "k1", "k2"),
                dim_parameter="rank",
                sparse_dim="sparse_dim",
                density="density",
                coalesced="coalesced",
                **tensor,
            )
        ],
        seed=seed,
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_sparse_draws_agree_with_torch_in_turn_and_alone(seed: int, dtype: torch.dtype) -> None:
    mine = _fuzzer(ours, seed, dtype=dtype)
    with repaired_torch():
        theirs = list(_fuzzer(torch_benchmark, seed, dtype=dtype).take(8))
    for index, (drawn, expected) in enumerate(zip(mine.take(8), theirs, strict=True)):
        assert_same_inputs(drawn, expected)
        if index in (1, 7):
            assert_same_inputs(mine.at(index), expected)


@pytest.mark.parametrize("dtype", ["int64", "complex64"])
def test_kinds_of_elements_that_torch_cannot_make(dtype: str) -> None:
    for tensors, properties, _ in _fuzzer(ours, 0, dtype=dtype).take(6):
        assert str(tensors["x"].dtype) == properties["x"]["dtype"] == f"torch.{dtype}"


def test_parameters_go_by_the_names_that_were_given() -> None:
    fuzzer = Fuzzer(
        [FuzzedParameter("rho", distribution={0.25: 1.0}), FuzzedParameter("once", distribution={True: 1.0})],
        [FuzzedSparseTensor("x", (40, 40), density="rho", coalesced="once", sparse_dim=2)],
        seed=0,
    )
    _, properties, _ = fuzzer.at(0)
    assert properties["x"]["density"] == 0.25
    assert properties["x"]["is_coalesced"]
    assert not properties["x"]["is_hybrid"]


def test_a_number_of_values_may_take_the_place_of_density() -> None:
    fuzzer = Fuzzer([], [FuzzedSparseTensor("x", (30, 50), nnz=20, coalesced=False)], seed=0)
    tensors, properties, _ = fuzzer.at(0)
    assert tensors["x"]._nnz() == 40
    assert properties["x"]["density"] == pytest.approx(20 / 80)


def test_bytes_are_those_of_values_and_indices() -> None:
    for coalesced in (True, False):
        spec = FuzzedSparseTensor("x", (1000, 7), density=0.1, sparse_dim=1, coalesced=coalesced)
        tensor, _ = spec.make({}, ())
        stored = tensor._values().nbytes + tensor._indices().nbytes
        assert stored <= spec.allocation_bytes({})
        assert stored == spec.allocation_bytes({}) or coalesced  # coalescing merges a few


def test_the_limit_on_bytes_holds_for_hybrid_tensors() -> None:
    spec = FuzzedSparseTensor("x", (16, 2**21), density=0.1, sparse_dim=1, coalesced=True, max_allocation_bytes=2**30)
    assert spec.broken_limit({}) == "max_allocation_bytes"


@pytest.mark.parametrize("density", [-0.1, 1.1])
def test_a_density_is_a_share(density: float) -> None:
    with pytest.raises(DefinitionError, match="between 0 and 1"):
        FuzzedSparseTensor("x", (4,), density=density)
    fuzzer = Fuzzer(
        [FuzzedParameter("density", distribution={density: 1.0})],
        [FuzzedSparseTensor("x", (4,), density="density")],
        seed=0,
    )
    with pytest.raises(DefinitionError, match="between 0 and 1"):
        fuzzer.at(0)


def test_the_printed_line_rebuilds_a_sparse_input() -> None:
    fuzzer = _fuzzer(ours, 4, max_allocation_bytes=2**20)
    namespace: dict[str, object] = {}
    exec(fuzzer.rebuild_line(2), namespace)
    assert_same_inputs((namespace["tensors"], namespace["properties"], namespace["params"]), fuzzer.at(2))
