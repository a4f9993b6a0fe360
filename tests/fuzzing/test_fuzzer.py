"""Fuzzer: the same inputs as torch's, the same each time, and clear words when there are none."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
import torch
import torch.utils.benchmark as torch_benchmark
from hypothesis import assume, given, settings, strategies as st

import photometer.fuzzing as ours
from photometer.errors import DefinitionError, ImpossibleSpec
from photometer.fuzzing import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias
from tests.fuzzing.specs import Spec, specs
from tests.fuzzing.torch_parity import assert_same_inputs, repaired_torch


def _built(spec: Spec, seed: int) -> Fuzzer:
    try:
        return spec.build(ours, seed)
    except ImpossibleSpec:
        assume(False)
        raise


@settings(max_examples=60)
@given(spec=specs(), seed=st.integers(0, 2**32 - 1))
def test_any_spec_draws_what_torch_draws(spec: Spec, seed: int) -> None:
    fuzzer = _built(spec, seed)
    with repaired_torch():
        theirs = spec.build(torch_benchmark, seed)
        try:
            expected = list(theirs.take(3))
        except ValueError:  # torch gives up sooner than we do
            assume(False)
    drawn = list(fuzzer.take(3))
    for mine, other in zip(drawn, expected, strict=True):
        assert_same_inputs(mine, other)
    assert fuzzer.rejection_rate == theirs.rejection_rate


@settings(max_examples=40)
@given(spec=specs(), seed=st.integers(0, 2**32 - 1), index=st.integers(0, 4))
def test_one_input_alone_is_the_one_in_its_turn(spec: Spec, seed: int, index: int) -> None:
    fuzzer = _built(spec, seed)
    try:
        in_turn = list(fuzzer.take(index + 1))[index]
    except ImpossibleSpec:
        assume(False)
    assert_same_inputs(fuzzer.at(index), in_turn)
    assert list(fuzzer.take_params(index + 1))[index] == in_turn[2]


@pytest.mark.lengthy
@settings(max_examples=40)
@given(spec=specs(), seed=st.integers(0, 2**32 - 1))
def test_the_printed_line_rebuilds_the_input(spec: Spec, seed: int) -> None:
    fuzzer = _built(spec, seed)
    try:
        expected = fuzzer.at(1)
    except ImpossibleSpec:
        assume(False)
    namespace: dict[str, object] = {}
    exec(fuzzer.rebuild_line(1), namespace)
    assert_same_inputs((namespace["tensors"], namespace["properties"], namespace["params"]), expected)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "complex64", "int64", "uint8", "bool", "float16"])
def test_every_kind_of_element_can_be_rebuilt_alone(dtype: str) -> None:
    fuzzer = Fuzzer(
        [FuzzedParameter("a", 1, 3000, "loguniform")], [FuzzedTensor("x", ("a", 300), dtype=dtype)], seed=11
    )
    for index, expected in enumerate(fuzzer.take(3)):
        assert_same_inputs(fuzzer.at(index), expected)
        assert expected[1]["x"]["dtype"] == f"torch.{dtype}"


def _plain(seed: int = 0, **tensor: Any) -> Fuzzer:
    return Fuzzer(
        parameters=[[FuzzedParameter(f"k{i}", 4, 64, "loguniform") for i in range(2)]],
        tensors=[[FuzzedTensor("x", ("k0", "k1"), **tensor), FuzzedTensor("y", ("k0", 1))]],
        seed=seed,
    )


def test_a_statement_that_draws_random_numbers_does_not_change_the_inputs() -> None:
    undisturbed = list(_plain().take(4))
    disturbed = []
    for each in _plain().take(4):
        torch.rand(17)
        disturbed.append(each)
    for mine, other in zip(disturbed, undisturbed, strict=True):
        assert_same_inputs(mine, other)


def test_two_fuzzers_taken_in_step_do_not_disturb_each_other() -> None:
    pairs = list(zip(_plain(1).take(3), _plain(2).take(3), strict=True))
    for index, (first, second) in enumerate(pairs):
        assert_same_inputs(first, _plain(1).at(index))
        assert_same_inputs(second, _plain(2).at(index))


def test_a_constructor_of_ones_own_draws_the_same_alone_and_in_turn() -> None:
    def normal(size: tuple[int, ...], dtype: torch.dtype, **params: Any) -> torch.Tensor:
        assert params["k0"] == size[0]
        return torch.randn(size, dtype=dtype)

    fuzzer = _plain(tensor_constructor=normal)
    for index, expected in enumerate(fuzzer.take(4)):
        assert_same_inputs(fuzzer.at(index), expected)


@pytest.mark.lengthy
def test_another_process_draws_the_same() -> None:
    program = (
        "import json, photometer.op_fuzzers as p;"
        "f = p.make_preset('unary', 5, max_elements=2**16, max_allocation_bytes=2**20);"
        "print(json.dumps([[q, t['x'].double().sum().item()] for t, _, q in f.take(3)]))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": hash_seed},
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert len(json.loads(outputs.pop())) == 3


def test_parameters_are_drawn_without_torch() -> None:
    program = (
        "import sys; from photometer.op_fuzzers import make_preset;"
        "assert len(list(make_preset('binary', 1).take_params(5))) == 5; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_another_seed_is_another_sequence() -> None:
    fuzzer = _plain(1)
    assert list(fuzzer.with_seed(2).take_params(3)) == list(_plain(2).take_params(3))
    assert fuzzer.seed == 1
    assert _plain(1).with_seed(2).rejection_rate == 0


def test_no_seed_chooses_one_and_says_which() -> None:
    fuzzer = Fuzzer([FuzzedParameter("k", 1, 10**6, "uniform")], [], seed=None)
    again = Fuzzer([FuzzedParameter("k", 1, 10**6, "uniform")], [], seed=fuzzer.seed)
    assert list(fuzzer.take_params(3)) == list(again.take_params(3))


def test_nothing_is_allocated_beyond_the_limit() -> None:
    largest = 0

    def watched(size: tuple[int, ...], dtype: torch.dtype, **params: Any) -> torch.Tensor:
        nonlocal largest
        largest = max(largest, torch.Size(size).numel() * dtype.itemsize)
        return torch.empty(size, dtype=dtype)

    parameters = [FuzzedParameter("k", 1, 10**9, "loguniform"), FuzzedParameter("s", distribution={1: 0.5, 8: 0.5})]
    tensor = FuzzedTensor(
        "x", ("k",), steps=("s",), dtype="complex64", max_allocation_bytes=4096, tensor_constructor=watched
    )
    assert len(list(Fuzzer(parameters, [tensor], seed=0).take(200))) == 200
    assert 2048 < largest <= 4096


def never(params: dict[str, Any]) -> bool:
    return False


def test_an_impossible_constraint_names_itself_and_the_rate() -> None:
    parameters = [FuzzedParameter("k", 1, 1000, "loguniform")]
    fuzzer = Fuzzer(parameters, [FuzzedTensor("x", ("k",))], constraints=[lambda params: True, never], seed=3)
    with pytest.raises(ImpossibleSpec, match=r"rejection rate 100 %.*constraint 1 \(never\) 100000 times"):
        next(fuzzer.take_params(1))


def test_constraints_hold_and_count() -> None:
    fuzzer = Fuzzer(
        [FuzzedParameter("k", 1, 100, "uniform")], [], constraints=[lambda params: params["k"] % 2 == 0], seed=0
    )
    drawn = [params["k"] for params in fuzzer.take_params(400)]
    assert all(k % 2 == 0 for k in drawn)
    assert fuzzer.rejection_rate == pytest.approx(0.5, abs=0.06)


def test_strict_parameters_are_not_skewed_by_limits() -> None:
    def spread(strict: bool) -> float:
        fuzzer = Fuzzer(
            [
                FuzzedParameter("d", distribution={1: 0.5, 2: 0.5}, strict=strict),
                FuzzedParameter("k", 1, 100, "uniform"),
            ],
            [FuzzedTensor("x", ("k", "k"), dim_parameter="d", max_elements=200)],
            seed=0,
        )
        return sum(params["d"] == 2 for params in fuzzer.take_params(600)) / 600

    assert spread(strict=True) == pytest.approx(0.5, abs=0.07)
    assert spread(strict=False) < 0.3


def test_alias_chains_share_the_value() -> None:
    fuzzer = Fuzzer(
        [
            FuzzedParameter("last", distribution={ParameterAlias("middle"): 1.0}),
            FuzzedParameter("middle", distribution={ParameterAlias("first"): 1.0}),
            FuzzedParameter("first", 1, 10**6, "uniform"),
        ],
        [],
        seed=0,
    )
    for params in fuzzer.take_params(20):
        assert params["last"] == params["middle"] == params["first"]
        assert list(params) == ["last", "middle", "first"]


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_out_of_range_is_refused(seed: int) -> None:
    with pytest.raises(DefinitionError, match="out of range"):
        _plain(seed)


def test_an_index_counts_from_zero() -> None:
    with pytest.raises(DefinitionError, match="no input -1"):
        _plain().at(-1)


def test_a_fuzzer_with_functions_is_rebuilt_from_the_fuzzer_in_hand() -> None:
    fuzzer = Fuzzer(
        [FuzzedParameter("k", 1, 9, "uniform")], [FuzzedTensor("x", ("k",))], [lambda p: p["k"] % 2], seed=6
    )
    namespace: dict[str, object] = {"fuzzer": fuzzer.with_seed(1)}
    exec(fuzzer.rebuild_line(2), namespace)
    assert_same_inputs((namespace["tensors"], namespace["properties"], namespace["params"]), fuzzer.at(2))


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32 - 1])
def test_a_spec_that_torch_takes_as_it_is_draws_the_same_without_repair(seed: int) -> None:
    """Ranges alone, a constraint, several dtypes: torch 2.13 draws this with its own code untouched."""

    def build(module: Any) -> Any:
        return module.Fuzzer(
            [
                module.FuzzedParameter("a", 3, 40, "loguniform"),
                module.FuzzedParameter("b", 1, 37, "uniform"),
                module.FuzzedParameter("c", 0.5, 3, "uniform", strict=True),
                module.FuzzedParameter("rank", 1, 3, "uniform", strict=True),
            ],
            [
                module.FuzzedTensor("x", ("a", "b", 3), (1, 2), dim_parameter="rank", max_elements=2000),
                module.FuzzedTensor("y", ("b",), dtype=torch.int16, probability_contiguous=0.1),
                module.FuzzedTensor("z", ("a", "a"), min_elements=16, dtype=torch.float64),
            ],
            [lambda params: params["a"] * params["c"] > params["b"]],
            seed=seed,
        )

    mine, theirs = build(ours), build(torch_benchmark)
    for drawn, expected in zip(mine.take(12), theirs.take(12), strict=True):
        assert_same_inputs(drawn, expected)
    assert mine.rejection_rate == theirs.rejection_rate > 0
