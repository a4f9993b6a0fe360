"""FuzzedTensor: sizes, steps, layouts and devices."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
import torch

from photometer.errors import DefinitionError, ImpossibleSpec
from photometer.fuzzing import FuzzedParameter, FuzzedTensor, Fuzzer, dtype_size


@pytest.mark.parametrize(
    "arguments",
    [
        {"size": (-1,)},
        {"size": (2.5,)},
        {"size": (2,), "steps": (0,)},
        {"size": (2,), "probability_contiguous": 1.5},
        {"size": (2,), "probability_contiguous": float("nan")},
        {"size": (2,), "min_elements": 5, "max_elements": 4},
        {"size": (2,), "dtype": "float33"},
    ],
)
def test_a_bad_tensor_is_refused_where_it_is_written(arguments: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError):
        FuzzedTensor("x", **arguments)


def _one(tensor: FuzzedTensor, **params: int) -> tuple[torch.Tensor, dict[str, Any]]:
    parameters = [FuzzedParameter(name, distribution={value: 1.0}) for name, value in params.items()]
    tensors, properties, _ = Fuzzer(parameters, [tensor], seed=0).at(0)
    return tensors["x"], properties["x"]


def test_dim_parameter_cuts_and_pads() -> None:
    tensor = FuzzedTensor("x", (2, 3, 4), probability_contiguous=1, dim_parameter="d")
    assert _one(tensor, d=2)[0].shape == (2, 3)
    assert _one(tensor, d=5)[0].shape == (2, 3, 4, 1, 1)
    assert _one(tensor, d=0)[0].shape == ()


def test_steps_stride_the_memory() -> None:
    tensor, properties = _one(FuzzedTensor("x", (4, 8), steps=(1, "s"), probability_contiguous=1), s=4)
    assert tensor.shape == (4, 8)
    assert tensor.stride() == (32, 4)
    assert properties["steps"] == (1, 4)
    assert properties["is_contiguous"] is False


def test_permuted_memory_keeps_the_shape() -> None:
    tensor, properties = _one(FuzzedTensor("x", (4, 8), probability_contiguous=0))
    assert tensor.shape == (4, 8)
    assert tensor.stride() == (1, 4)
    assert properties["order"].tolist() == [1, 0]


def test_the_device_is_where_the_tensor_lies() -> None:
    assert _one(FuzzedTensor("x", (4,), device="meta"))[0].device.type == "meta"
    assert FuzzedTensor("x", (4,), cuda=True).device == "cuda"


def test_bytes_of_one_element() -> None:
    for name in ("bool", "int8", "float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int64"):
        dtype = getattr(torch, name)
        assert dtype_size(dtype) == dtype_size(name) == torch.empty(1, dtype=dtype).element_size()


def test_limits_count_before_anything_is_made() -> None:
    tensor = FuzzedTensor("x", ("k",), steps=(2,), max_allocation_bytes=800, min_elements=10)
    assert tensor.broken_limit({"k": 10**15}) == "max_allocation_bytes"
    assert tensor.broken_limit({"k": 9}) == "min_elements"
    assert tensor.satisfies_constraints({"k": 100})
    assert not tensor.satisfies_constraints({"k": 101})


def test_several_dtypes_in_one_fuzzer() -> None:
    fuzzer = Fuzzer(
        [FuzzedParameter("kind", distribution={"float64": 0.5, torch.int8: 0.5})],
        [FuzzedTensor("x", (100,), dtype_parameter="kind", max_allocation_bytes=800)],
        seed=0,
    )
    drawn = list(fuzzer.take(8))
    assert {properties["x"]["dtype"] for _, properties, _ in drawn} == {"torch.float64", "torch.int8"}
    for index, (tensors, properties, _) in enumerate(drawn):
        assert str(tensors["x"].dtype) == properties["x"]["dtype"]
        assert torch.equal(fuzzer.at(index)[0]["x"], tensors["x"])
    namespace: dict[str, Any] = {}
    exec(fuzzer.rebuild_line(3), namespace)
    assert torch.equal(namespace["tensors"]["x"], drawn[3][0]["x"])
    tighter = FuzzedTensor("x", (100,), dtype_parameter="kind", max_allocation_bytes=799)
    only_small = Fuzzer(fuzzer.parameters, [tighter], seed=0)
    assert {params["kind"] for params in only_small.take_params(20)} == {torch.int8}


def test_a_dtype_parameter_of_no_dtypes_is_refused() -> None:
    for distribution in ({"float33": 1.0}, {3: 1.0}):
        with pytest.raises(DefinitionError, match="dtype"):
            Fuzzer([FuzzedParameter("d", distribution=distribution)], [FuzzedTensor("x", (4,), dtype_parameter="d")])


def test_numpys_whole_numbers_do_not_overflow() -> None:
    large = np.int64(2**24)
    fuzzer = Fuzzer(
        [FuzzedParameter("k", distribution={large: 0.5, np.int64(2): 0.5}, strict=True)],
        [FuzzedTensor("x", ("k", "k", "k", np.int64(1)), max_elements=100)],
        seed=0,
    )
    assert fuzzer.tensors[0].broken_limit({"k": 2**24}) == "max_elements"
    found = set()
    for seed in range(8):
        with contextlib.suppress(ImpossibleSpec):
            found |= {params["k"] for params in fuzzer.with_seed(seed).take_params(1)}
    assert found == {2}
