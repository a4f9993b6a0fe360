"""Every preset: drawn a thousand times within its limits, some of them made, and as torch draws its own."""

from __future__ import annotations

import math
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.utils.benchmark as torch_benchmark

import photometer.op_fuzzers
from photometer.errors import DefinitionError
from photometer.op_fuzzers import PRESETS, make_preset
from photometer.op_fuzzers.convolution import output_side
from photometer.op_fuzzers.spectral import REGULAR_SIZES
from tests.fuzzing.torch_parity import assert_same_inputs, repaired_torch, torch_params

pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks")  # of torch's own fuzzer

# Small enough to make a few tensors of each in a test.
SMALL = {"max_allocation_bytes": 2**20}
TORCHS = {
    "unary": "UnaryOpFuzzer",
    "binary": "BinaryOpFuzzer",
    "sparse-unary": "UnaryOpSparseFuzzer",
    "sparse-binary": "BinaryOpSparseFuzzer",
    "spectral": "SpectralOpFuzzer",
}
STATEMENTS = {
    "unary": "x.abs()",
    "binary": "x + y",
    "sparse-unary": "x.neg()",
    "sparse-binary": "x + y",
    "spectral": "torch.fft.fftn(x)",
    "matmul": "x @ y",
    "reduction": "x.sum(axis, keepdim=keepdim)",
    "convolution": "torch.nn.functional.conv2d(x, weight, bias, stride, padding, dilation, groups)",
    "attention": "torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)",
}


@pytest.mark.parametrize("name", PRESETS)
def test_a_thousand_draws_keep_the_limits(name: str) -> None:
    fuzzer = make_preset(name, 17)
    drawn = list(fuzzer.take_params(1000))
    assert len(drawn) == 1000
    for params in drawn:
        for tensor in fuzzer.tensors:
            elements = math.prod(tensor.size_of(params))
            assert (tensor.min_elements or 0) <= elements <= (tensor.max_elements or math.inf)
            assert tensor.max_allocation_bytes is not None
            assert tensor.allocation_bytes(params) <= tensor.max_allocation_bytes <= 2 * 1024**3
    sizes = {tuple(fuzzer.tensors[0].size_of(params)) for params in drawn}
    assert len(sizes) > 500


@pytest.mark.lengthy
@pytest.mark.parametrize("name", PRESETS)
def test_inputs_suit_the_statement_they_are_for(name: str) -> None:
    fuzzer = make_preset(name, 3, **SMALL)
    for index, (tensors, properties, params) in enumerate(fuzzer.take(8)):
        eval(STATEMENTS[name], {"torch": torch}, {**params, **tensors})
        for tensor in fuzzer.tensors:
            made = tensors[tensor.name]
            assert tuple(made.shape) == tensor.size_of(params)
            assert properties[tensor.name]["numel"] == made.numel()
        if index == 5:
            assert_same_inputs(fuzzer.at(5), (tensors, properties, params))


def test_batched_matmul_broadcasts_sometimes() -> None:
    batches = set()
    for tensors, _, params in make_preset("matmul", 4, batched=True, **SMALL).take(12):
        assert (tensors["x"] @ tensors["y"]).shape == (params["batch"], params["m"], params["n"])
        batches.add(params["y_batch"] == 1)
    assert batches == {True, False}


@pytest.mark.lengthy
@pytest.mark.skipif(torch.__version__.startswith("2.4."), reason="torch has grouped queries from 2.5")
def test_grouped_queries_have_fewer_keys() -> None:
    shares = set()
    for tensors, _, params in make_preset("attention", 4, grouped_queries=True, **SMALL).take(12):
        attention = torch.nn.functional.scaled_dot_product_attention
        result = attention(tensors["q"], tensors["k"], tensors["v"], enable_gqa=True)
        assert result.shape == tensors["q"].shape
        shares.add(params["heads"] // params["kv_heads"])
    assert len(shares) > 1


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
@pytest.mark.parametrize("name", ["unary", "binary", "spectral"])
def test_parameters_are_those_of_torchs_preset(name: str, seed: int) -> None:
    with repaired_torch():
        theirs = torch_params(_torchs(name, seed), 40)
    assert list(make_preset(name, seed).take_params(40)) == theirs


@pytest.mark.parametrize("name", ["sparse-unary", "sparse-binary"])
def test_sparse_parameters_are_torchs_until_it_asks_for_too_much(name: str) -> None:
    ours = make_preset(name, 5, max_allocation_bytes=2**60)  # no limit, as torch has none
    with repaired_torch():
        theirs = torch_params(_torchs(name, 5), 120)
    assert list(ours.take_params(120)) == theirs
    assert max(ours.tensors[0].allocation_bytes(params) for params in theirs) > 2**31


@pytest.mark.lengthy
@pytest.mark.parametrize("seed", [11, 12])
@pytest.mark.parametrize("name", TORCHS)
def test_tensors_are_those_of_torchs_preset(name: str, seed: int) -> None:
    """Limits are made smaller on both sides, so that the tensors fit a test."""
    ours = make_preset(name, seed, max_elements=2**21, max_allocation_bytes=2**24)
    with repaired_torch():
        theirs = _torchs(name, seed)
        for tensor, mine in zip(theirs._tensors, ours.tensors, strict=True):
            tensor._max_elements = mine.max_elements
            tensor._max_allocation_bytes = 2**24
            if name.startswith("sparse"):  # torch counts bytes as if dense; count them as they are
                tensor.satisfies_constraints = mine.satisfies_constraints
        for drawn, expected in zip(ours.take(6), theirs.take(6), strict=True):
            assert_same_inputs(drawn, expected)


def _torchs(name: str, seed: int) -> Any:
    module = import_module(f"torch.utils.benchmark.op_fuzzers.{name.replace('-', '_')}")
    return getattr(module, TORCHS[name])(seed=seed)


def test_regular_sizes_are_torchs() -> None:
    module = import_module("torch.utils.benchmark.op_fuzzers.spectral")
    assert module.REGULAR_SIZES == REGULAR_SIZES


def test_the_arguments_of_torchs_presets_are_taken() -> None:
    for name, class_name in TORCHS.items():
        mine = getattr(import_module(f"photometer.op_fuzzers.{name.replace('-', '_')}"), class_name)
        positional = () if name == "spectral" else (3, torch.float64, False)
        assert mine(*positional, **({"seed": 3} if name == "spectral" else {})).seed == 3
    modules = {name for name, value in vars(photometer.op_fuzzers).items() if isinstance(value, ModuleType)}
    assert modules & set(photometer.op_fuzzers.__all__) == {name.replace("-", "_") for name in PRESETS}
    unary = PRESETS["unary"]
    assert isinstance(unary, type)
    assert issubclass(unary, photometer.fuzzing.Fuzzer)
    assert torch_benchmark.Fuzzer is not photometer.fuzzing.Fuzzer


@pytest.mark.parametrize("name", PRESETS)
def test_the_printed_line_rebuilds_the_input(name: str) -> None:
    fuzzer = make_preset(name, 8, dtype="float64", **SMALL).with_seed(9)
    line = fuzzer.rebuild_line(2)
    assert "seed=9" in line
    assert "\n" not in line
    namespace: dict[str, object] = {}
    exec(line, namespace)
    assert_same_inputs((namespace["tensors"], namespace["properties"], namespace["params"]), fuzzer.at(2))


def test_convolution_sides() -> None:
    x, weight = torch.rand(1, 1, 9, 9), torch.rand(1, 1, 3, 3)
    for stride, padding, dilation in ((1, 0, 1), (2, 1, 1), (2, 3, 2)):
        made = torch.nn.functional.conv2d(x, weight, None, stride, padding, dilation)
        assert made.shape[-1] == output_side(9, 3, stride, padding, dilation)


def test_a_preset_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(DefinitionError, match="unary"):
        make_preset("ternary", 0)
    with pytest.raises(DefinitionError, match="colour"):
        make_preset("unary", 0, colour="red")
    assert make_preset("sparse_unary", 0).seed == 0


def test_lines_of_old_results_files_still_rebuild_their_inputs() -> None:
    names: dict[str, Any] = {}
    exec("from photometer.fuzzing.presets.unary import UnaryOpFuzzer; made = UnaryOpFuzzer(seed=1).at(0)", names)
    assert tuple(names["made"][0]["x"].shape) == (16, 1057, 122)
