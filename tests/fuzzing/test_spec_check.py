"""Specifications that cannot be meant are refused when the fuzzer is made."""

from __future__ import annotations

from typing import Any

import pytest

from photometer.errors import DefinitionError, ImpossibleSpec
from photometer.fuzzing import FuzzedParameter, FuzzedSparseTensor, FuzzedTensor, Fuzzer, ParameterAlias

K = FuzzedParameter("k", 16, 64, "loguniform")
HALF = FuzzedParameter("half", 0.1, 0.9, "uniform")


def alias(name: str, *targets: str) -> FuzzedParameter:
    return FuzzedParameter(name, distribution={ParameterAlias(target): 1 / len(targets) for target in targets})


@pytest.mark.parametrize(
    ("parameters", "tensors", "message"),
    [
        ([K, K], [], "k"),
        ([K], [FuzzedTensor("k", (1,))], "more than one"),
        ([K], [FuzzedTensor("x", ("k",)), FuzzedTensor("x", ("k",))], "x"),
        ([K], [FuzzedTensor("x", ("k", "m"))], "'m'"),
        ([K], [FuzzedTensor("x", ("k",), steps=("s",))], "'s'"),
        ([K], [FuzzedTensor("x", ("k",), dim_parameter="d")], "'d'"),
        ([K], [FuzzedTensor("x", ("k",), roll_parameter="r")], "'r'"),
        ([K], [FuzzedSparseTensor("x", ("k",), density="rho")], "'rho'"),
        ([K], [FuzzedSparseTensor("x", ("k",))], "neither density nor nnz"),
        ([alias("a", "nowhere")], [], "nowhere"),
        ([alias("a", "a")], [], "a -> a"),
        ([K, alias("a", "b", "k"), alias("b", "c"), alias("c", "a")], [], "a -> b -> c -> a"),
        ([HALF], [FuzzedTensor("x", ("half",))], "whole number"),
        ([HALF, alias("a", "half")], [FuzzedTensor("x", ("a",))], "whole number"),
        ([FuzzedParameter("n", -2, 2, "uniform")], [FuzzedTensor("x", ("n",))], "from 0"),
        ([FuzzedParameter("n", 0, 2, "uniform")], [FuzzedTensor("x", (4,), steps=("n",))], "from 1"),
    ],
)
def test_bad_specs_are_refused(parameters: list[Any], tensors: list[Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=message) as caught:
        Fuzzer(parameters, tensors)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (FuzzedTensor("x", ("k", "k"), max_elements=255), "at least 256 elements"),
        (FuzzedTensor("x", ("k", "k"), min_elements=64 * 64 + 1), "at most 4096 elements"),
        (FuzzedTensor("x", ("k",), steps=(4,), max_allocation_bytes=255), "at least 256 bytes"),
        (
            FuzzedTensor("x", ("k", "k"), dim_parameter="d", min_elements=64 * 64 + 1),
            "at most 64 elements.*4096",
        ),
    ],
)
def test_limits_that_no_draw_can_meet_are_refused(tensor: FuzzedTensor, message: str) -> None:
    with pytest.raises(ImpossibleSpec, match=message):
        Fuzzer([K, FuzzedParameter("d", distribution={1: 0.5, 2: 0.5})], [tensor])


def test_limits_that_some_draw_can_meet_are_taken() -> None:
    tensor = FuzzedTensor("x", ("k", "k"), dim_parameter="d", min_elements=64 * 64)
    fuzzer = Fuzzer([K, FuzzedParameter("d", distribution={1: 0.5, 2: 0.5})], [tensor])
    assert fuzzer.tensors == (tensor,)


def test_an_alias_that_is_never_chosen_makes_no_circle() -> None:
    never = FuzzedParameter("a", distribution={ParameterAlias("a"): 0.0, 1: 1.0})
    assert next(Fuzzer([never], []).take_params(1)) == {"a": 1}


def test_what_is_no_parameter_is_refused() -> None:
    with pytest.raises(DefinitionError, match="not a FuzzedParameter"):
        Fuzzer([["k"]], [])  # type: ignore[list-item]
