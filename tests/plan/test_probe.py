"""Probes: one run leaves its result in a file, in the same form for every variant."""

from __future__ import annotations

import importlib
import io
import json
import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from photometer.definition import GroupedBenchmark, GroupedModules, GroupedSetup, GroupedStmts
from photometer.model.task import Language
from photometer.plan import WorkOrder, materialize
from photometer.plan.probe import PROBE_FOLDER, RESULT_PLACEHOLDER, result_names, with_result_path

torch = pytest.importorskip("torch")

SETUP = GroupedSetup(
    "x = torch.rand(3)\nw = torch.rand(3, requires_grad=True)",
    "auto x = torch::rand({3});\nauto w = torch::rand({3}, torch::requires_grad());",
)


@pytest.fixture(autouse=True)
def _probe_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(PROBE_FOLDER)


def run(order: WorkOrder, folder: Path) -> dict[str, Any]:
    path = folder / f"{order.id}.json"
    args = with_result_path(order, str(path)).args
    lines = [*args.setup.splitlines(), *args.stmt.splitlines()]
    namespace: dict[str, Any] = {"torch": torch}
    exec("def run():\n" + "\n".join(f"    {line}" for line in lines), namespace)
    namespace["run"]()
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@pytest.mark.parametrize(
    ("benchmark", "names"),
    [
        (GroupedStmts("y = x * w", "auto y = x * w;", SETUP, "f(x, w) -> y"), ("y",)),
        (GroupedStmts("x += w", "x += w;", SETUP, "f(x, w) -> None"), ("x", "w")),
        (GroupedModules("model = torch.nn.ReLU()", None, SETUP, "f(x) -> y"), ("y",)),
        (GroupedStmts("a = x\nz = a + 1", "auto z = x + 1;", SETUP), ("z",)),
        (GroupedStmts("a = x\nz = a + 1", None, SETUP), ("a", "z")),
        (GroupedStmts("x.add_(1)", "x.add_(1);", SETUP), ("x",)),
        (GroupedStmts("torch.empty((1,))", "torch::empty({1});"), ()),
        (GroupedStmts(None, "x + 1;", SETUP), ()),
    ],
)
def test_which_variables_are_the_result(benchmark: GroupedBenchmark, names: tuple[str, ...]) -> None:
    assert result_names(benchmark) == names


def test_python_probe_writes_output_and_gradients(tmp_path: Path) -> None:
    benchmark = GroupedStmts("y = (x * w).sum()", None, SETUP, "f(x, w) -> y", autograd=True)
    forward, backward = (run(order, tmp_path) for order in materialize({"a": benchmark}, probe=True))
    assert set(forward) == {"y"}
    assert backward["y"] == forward["y"]
    assert backward["x.grad"] == []
    torch.manual_seed(0)
    # The gradient of w is x, from one backward pass alone.
    assert backward["w.grad"] == [{"shape": [3], "values": torch.rand(3).double().tolist()}]


def test_inputs_are_fresh_after_warm_up(tmp_path: Path) -> None:
    """A compiled or scripted variant has run in its set-up; an in-place statement has changed the inputs there."""
    (order,) = materialize({"a": GroupedStmts("x += 1", None, SETUP)}, probe=True)
    torch.manual_seed(0)
    expected = (torch.rand(3) + 1).double().tolist()
    assert run(order, tmp_path)["x"] == [{"shape": [3], "values": expected}]


def test_probe_has_the_id_of_the_order_it_stands_for() -> None:
    suite = {"a": GroupedStmts("y = x * w", "auto y = x * w;", SETUP, "f(x, w) -> y", torchscript=True)}
    orders, probes = materialize(suite), materialize(suite, probe=True)
    assert [order.id for order in probes] == [order.id for order in orders]
    assert all(RESULT_PLACEHOLDER in probe.args.stmt for probe in probes)


def test_cpp_probe_hides_the_names_outside_it() -> None:
    suite = {"a": GroupedStmts("y = x * w", "auto y = x * w;", SETUP, "f(x, w) -> y", autograd=True)}
    probe = next(
        order
        for order in materialize(suite, probe=True)
        if order.auto.language is Language.CPP and order.auto.autograd.value == "forward+backward"
    ).args
    assert '#include "photometer_result.h"' in probe.global_setup
    assert probe.stmt.count("auto x = ") == 1
    assert probe.stmt.index("auto x =") < probe.stmt.index("auto y =") < probe.stmt.index("photometer_writer")
    assert 'photometer_writer.add("w.grad", photometer_result::gradient_of(w));' in probe.stmt
    assert probe.stmt.count("{\n") == 2


def test_values_of_all_kinds(tmp_path: Path) -> None:
    photometer_result = importlib.import_module("photometer_result")
    try:
        path = tmp_path / "result.json"
        values = {
            "number": 3,
            "truth": True,
            "nothing": None,
            "text": "left out",
            # These have a method `detach`, too: a class of tensors, a file, a container of tensors.
            "class": torch.Tensor,
            "file": io.BytesIO(),
            "container": SimpleNamespace(detach=lambda: "another container"),
            "nested": (torch.ones(2), [torch.tensor(2, dtype=torch.int64), (torch.tensor([True]),)]),
            "complex": torch.tensor([1 + 2j]),
            "odd": torch.tensor([math.nan, math.inf]),
            "empty": torch.ones((0, 3)),
            "large": torch.arange(2_000_000.0).reshape(1000, 2000),
            "quantized": torch.quantize_per_tensor(torch.tensor([0.5, 1.0]), 0.5, 0, torch.quint8),
            "sparse": torch.tensor([[0.0, 3.0], [4.0, 0.0]]).to_sparse(),
            "compressed": torch.tensor([[0.0, 3.0], [4.0, 0.0]]).to_sparse_csr(),
            "jagged": torch.nested.nested_tensor([torch.ones(1), torch.ones(2)], layout=torch.jagged),
            "meta": torch.ones(3, device="meta"),
        }
        photometer_result.write_result(str(path), values)
        found = json.loads(path.read_text())
    finally:
        sys.modules.pop("photometer_result", None)
    assert found["number"] == [{"shape": [], "values": [3.0]}]
    assert found["truth"] == [{"shape": [], "values": [1.0]}]
    assert all(found[name] == [] for name in ("nothing", "text", "class", "file", "container"))
    assert [entry["shape"] for entry in found["nested"]] == [[2], [], [1]]
    assert found["complex"] == [{"shape": [1, 2], "values": [1.0, 2.0]}]
    assert math.isnan(found["odd"][0]["values"][0])
    assert found["odd"][0]["values"][1] == math.inf
    assert found["empty"] == [{"shape": [0, 3], "values": []}]
    assert found["quantized"] == [{"shape": [2], "values": [0.5, 1.0]}]
    places = {"shape": [2, 2], "values": [0.0, 1.0, 1.0, 0.0]}
    assert found["sparse"] == found["compressed"] == [places, {"shape": [2], "values": [3.0, 4.0]}]
    assert [entry["shape"] for entry in found["jagged"]] == [[1], [2]]
    assert found["meta"] == [{"shape": [3], "values": []}]
    (large,) = found["large"]
    assert large["shape"] == [1000, 2000]
    assert large["values"] == [float(value) for value in range(0, 2_000_000, 201)]
