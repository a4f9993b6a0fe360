"""The text of the variants: it is what the seed describes, and the Python of it runs."""

from __future__ import annotations

import dataclasses
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from photometer.definition import GroupedModules, GroupedSetup, GroupedStmts
from photometer.plan import ScriptingJob, WorkOrder, materialize
from photometer.plan.codegen_python import CLEAR_GRADIENTS

torch = pytest.importorskip("torch")

SETUP = GroupedSetup(
    "x = torch.ones((4, 4))\nw = torch.ones((4, 4), requires_grad=True)",
    "auto x = torch::ones({4, 4});\nauto w = torch::ones({4, 4}, torch::requires_grad());",
)
EXAMPLE = GroupedStmts(
    "y = x * w", "auto y = x * w;", SETUP, signature="f(x, w) -> y", torchscript=True, autograd=True, compiled=True
)


def orders_of(benchmark: Any) -> dict[tuple[str, str, str], WorkOrder]:
    orders = materialize({"a": benchmark})
    return {(o.auto.runtime.value, o.auto.autograd.value, str(o.auto.as_dict()["language"])): o for o in orders}


def save_model(job: ScriptingJob, folder: Path) -> str:
    source = folder / f"model_{job.id}.py"
    source.write_text(job.source)
    spec = importlib.util.spec_from_file_location(source.stem, source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.jit_model.save(str(folder / f"{job.id}.pt"))
    return str(folder / f"{job.id}.pt")


def run(order: WorkOrder) -> dict[str, Any]:
    """Set-up and statement as one function, as the worker's loop runs them; the local variables at the end."""
    lines = [*order.args.setup.splitlines(), *order.args.stmt.splitlines(), "return locals()"]
    namespace: dict[str, Any] = {"torch": torch}
    exec("def run():\n" + "\n".join(f"    {line}" for line in lines), namespace)
    return {**namespace, **namespace["run"]()}


def test_eager_statements_are_the_authors() -> None:
    orders = orders_of(EXAMPLE)
    assert orders["eager", "forward", "python"].args.stmt == "y = x * w"
    assert orders["eager", "forward", "cpp"].args.stmt == "auto y = x * w;"
    assert SETUP.py_setup in orders["eager", "forward", "python"].args.setup


def test_backward_is_called_on_the_output() -> None:
    orders = orders_of(EXAMPLE)
    python = orders["eager", "forward+backward", "python"].args.stmt.splitlines()
    assert python[-2:] == ["y = x * w", "y.backward(photometer_gradient)"]
    # Gradients do not add up from run to run.
    assert "\n".join(python[:-2]) == CLEAR_GRADIENTS
    kept = materialize({"a": dataclasses.replace(EXAMPLE, grad_to_none=False)})
    assert not any("photometer_leaf" in order.args.stmt for order in kept)
    assert orders["torchscript", "forward+backward", "cpp"].args.stmt.endswith(
        "y.toTensor().backward(photometer_gradient);"
    )


def test_scripted_model_is_the_statement_as_a_function() -> None:
    (job,) = materialize({"a": EXAMPLE}).scripting_jobs
    assert "def model(x, w):\n    y = x * w\n    return y\n" in job.source
    assert job.source.endswith("jit_model = torch.jit.script(model)\n")


def test_scripted_orders_load_and_warm_up_in_both_languages() -> None:
    orders = orders_of(EXAMPLE)
    python, cpp = (orders["torchscript", "forward", language].args for language in ("python", "cpp"))
    assert python.stmt == "y = jit_model(x, w)"
    assert "torch.jit.load(" in python.setup
    assert python.stmt in python.setup
    assert cpp.stmt.endswith("auto y = jit_model.forward(ivalue_inputs);")
    assert "torch::jit::load(" in cpp.setup
    assert cpp.setup.count("jit_model.forward") == 1
    assert "#include <torch/script.h>" in cpp.global_setup


def test_compile_seconds_are_kept_apart() -> None:
    for autograd in ("forward", "forward+backward"):
        setup = orders_of(EXAMPLE)["compiled", autograd, "python"].args.setup
        start, end = setup.index("photometer_start ="), setup.index('globals()["photometer_compile_seconds"]')
        calls = [position for position in range(len(setup)) if setup.startswith("y = compiled_model(", position)]
        # The first call of all lies inside the clock's two readings.
        assert start < calls[0] < end < calls[-1]


@pytest.mark.parametrize("output", ["y = x * w", "y = (x * w).sum()"])
def test_python_variants_give_one_result(output: str, tmp_path: Path) -> None:
    """An output of many elements starts from ones, one of a single element from nothing."""
    benchmark = GroupedStmts(output, None, SETUP, "f(x, w) -> y", torchscript=True, autograd=True)
    plan = materialize({"a": benchmark})
    path = save_model(plan.scripting_jobs[0], tmp_path)
    results = {
        order.title: run(order.with_model_path(path)) for order in plan if order.auto.as_dict()["language"] == "python"
    }
    assert len(results) == 4
    for title, names in results.items():
        assert torch.equal(names["y"], eval(output.removeprefix("y = "), {**names})), title
        if "backward" in title:
            # Of one run, after a warm-up too.
            assert torch.equal(names["w"].grad, torch.ones((4, 4))), title


def test_inputs_and_weights_come_from_one_seed(tmp_path: Path) -> None:
    benchmark = GroupedModules(
        "model = torch.nn.Linear(n, n)",
        None,
        GroupedSetup("x = torch.rand(n)"),
        signature="f(x) -> y",
        torchscript=True,
        sizes={"n": (3,)},
    )
    plan = materialize({"a": benchmark})
    path = save_model(plan.scripting_jobs[0], tmp_path)
    eager, scripted = (run(order.with_model_path(path)) for order in plan)
    assert torch.equal(eager["y"], scripted["y"])


def test_scripted_statement_sees_sizes_imports_and_functions(tmp_path: Path) -> None:
    setup = GroupedSetup(
        "import torch.nn.functional as F\ndef half(t):\n    return t / 2\nx = torch.ones(n)\nunused = 1", ""
    )
    benchmark = GroupedStmts("y = half(F.relu(x)) + n", None, setup, "f(x) -> y", torchscript=True, sizes={"n": (3,)})
    plan = materialize({"a": benchmark})
    (job,) = plan.scripting_jobs
    assert "unused" not in job.source
    results = [run(order.with_model_path(save_model(job, tmp_path)))["y"] for order in plan]
    assert all(torch.equal(result, torch.full((3,), 3.5)) for result in results)


def test_a_model_may_use_what_the_setup_makes(tmp_path: Path) -> None:
    setup = GroupedSetup("width = 3\nx = torch.rand(width)", "")
    module = GroupedModules("model = torch.nn.Linear(width, 1)", None, setup, "f(x) -> y", torchscript=True)
    plan = materialize({"a": module})
    path = save_model(plan.scripting_jobs[0], tmp_path)
    eager, scripted = (run(order.with_model_path(path)) for order in plan)
    assert torch.equal(eager["y"], scripted["y"])


def test_sizes_and_device_are_variables_in_both_languages() -> None:
    setup = GroupedSetup("x = torch.ones(shape, device=device)", "auto x = torch::ones(shape).to(device);")
    sizes = ({"shape": (2, 3), "scale": 0.5, "deep": True, "name": 'a"b', "n": 7},)
    module = GroupedModules(
        "model = torch.nn.ReLU()", "auto model = torch::nn::ReLU();", setup, "f(x) -> y", sizes=sizes, devices="cpu"
    )
    python, cpp = (order.args for order in materialize({"a": module}))
    for line in ("shape = (2, 3)", "scale = 0.5", "deep = True", "name = 'a\"b'", 'device = torch.device("cpu")'):
        assert line in python.setup.splitlines()
    assert "model = model.to(device)" in python.setup
    for line in (
        "const std::vector<int64_t> shape = {2, 3};",
        "const double scale = 0.5;",
        "const bool deep = true;",
        'const std::string name = "a\\"b";',
        "const int64_t n = 7;",
        'const torch::Device device("cpu");',
        "model->to(device);",
    ):
        assert line in cpp.setup.splitlines()
    assert "#include <string>" in cpp.global_setup


def test_a_setup_may_import_torch_itself() -> None:
    from photometer.worker.python_loop import PythonLoop

    suite = {
        "own import": GroupedStmts(
            py_stmt="y = x + 1",
            setup=GroupedSetup(py_setup="import torch\nx = torch.ones(4)"),
        )
    }
    (order,) = materialize(suite)
    import torch

    assert PythonLoop(order.args.stmt, order.args.setup, globals={"torch": torch}).timeit(1) > 0
