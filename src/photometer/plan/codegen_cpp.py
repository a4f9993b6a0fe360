"""The C++ text of a variant: its statement, its set-up and its code at file scope. As for Python, nothing is run."""

from __future__ import annotations

import json
import textwrap

from photometer.definition.grouped import GroupedBenchmark
from photometer.definition.sweep import SizePoint, SizeValue
from photometer.plan.auto_labels import AutogradMode, AutoLabels, RuntimeMode
from photometer.plan.codegen_python import SEED, WARM_UP_RUNS

# torch/torch.h does not include TorchScript's loader.
_TORCHSCRIPT_INCLUDES = "#include <string>\n#include <vector>\n#include <torch/script.h>"
# Before each run, as in Python.
_CLEAR_GRADIENTS = "for (auto& photometer_leaf : photometer_leaves) photometer_leaf.mutable_grad().reset();"
_TAKE_LEAVES = """std::vector<torch::Tensor> photometer_leaves;
auto photometer_take = [&photometer_leaves](const auto& given) {
    if constexpr (std::is_same_v<std::decay_t<decltype(given)>, torch::Tensor>) {
        if (given.requires_grad() && given.is_leaf()) photometer_leaves.push_back(given);
    }
};"""
_SIZE_INCLUDES = "#include <cstdint>\n#include <string>\n#include <vector>"


def cpp_statement(benchmark: GroupedBenchmark, auto: AutoLabels) -> str | None:
    """Return the measured code, or None if the benchmark has no such C++ (torch.compile exists only in Python)."""
    if auto.runtime is RuntimeMode.COMPILED:
        return None
    forward = _forward(benchmark, auto.runtime)
    if forward is None or auto.autograd is not AutogradMode.FORWARD_BACKWARD:
        return forward
    clear = f"{_CLEAR_GRADIENTS}\n" if benchmark.grad_to_none else ""
    return f"{clear}{forward}\n{_output_tensor(benchmark, auto.runtime)}.backward(photometer_gradient);"


def cpp_setup(benchmark: GroupedBenchmark, auto: AutoLabels, stmt: str, model_path: str) -> str:
    """Return everything before the first measured run: sizes and device, inputs, model, gradient, warm-up."""
    runtime, device = auto.runtime, auto.device if benchmark.devices else None
    parts = [f"torch::manual_seed({SEED});", *_swept(device, auto.sizes), benchmark.setup.cpp_setup]
    if runtime is RuntimeMode.TORCHSCRIPT:
        parts.append(f'auto jit_model = torch::jit::load("{model_path}"{"" if device is None else ", device"});')
    elif benchmark.cpp_model_setup is not None:
        parts += [f"torch::manual_seed({SEED});", benchmark.cpp_model_setup]
        parts += [] if device is None else ["model->to(device);"]
    if auto.autograd is AutogradMode.FORWARD_BACKWARD:
        parts += _leaves(benchmark, runtime) if benchmark.grad_to_none else []
        parts += _gradient(benchmark, runtime)
    if runtime is RuntimeMode.TORCHSCRIPT:
        counter = f"int photometer_run = 0; photometer_run < {WARM_UP_RUNS}; photometer_run++"
        parts.append(f"for ({counter}) {{\n{_indented(stmt)}\n}}")
    return "\n".join(part for part in parts if part)


def cpp_global_setup(benchmark: GroupedBenchmark, auto: AutoLabels) -> str:
    """Return the author's text at file scope, below the headers of the generated code."""
    scripted = auto.runtime is RuntimeMode.TORCHSCRIPT
    includes = _TORCHSCRIPT_INCLUDES if scripted else _SIZE_INCLUDES if auto.sizes else ""
    return "\n".join(part for part in (includes, benchmark.setup.global_setup) if part)


def _forward(benchmark: GroupedBenchmark, runtime: RuntimeMode) -> str | None:
    if runtime is RuntimeMode.EAGER:
        return benchmark.cpp_fwd_stmt
    if not benchmark.has_cpp_torchscript:
        return None
    inputs = ", ".join(f"torch::jit::IValue({name})" for name in benchmark.signature_args or ())
    output = benchmark.signature_output
    declared = "" if output is None else f"auto {output} = "
    return f"std::vector<torch::jit::IValue> ivalue_inputs({{{inputs}}});\n{declared}jit_model.forward(ivalue_inputs);"


def _output_tensor(benchmark: GroupedBenchmark, runtime: RuntimeMode) -> str:
    return f"{benchmark.signature_output}{'.toTensor()' if runtime is RuntimeMode.TORCHSCRIPT else ''}"


def _leaves(benchmark: GroupedBenchmark, runtime: RuntimeMode) -> list[str]:
    """Return the code that finds the leaves whose gradients are cleared: those of the signature, and of the model."""
    found = [f"photometer_take({name});" for name in benchmark.signature_args or ()]
    models = ["jit_model."] if runtime is RuntimeMode.TORCHSCRIPT else ["model->"] if benchmark.cpp_model_setup else []
    found += [f"for (const auto& parameter : {model}parameters()) photometer_take(parameter);" for model in models]
    return [_TAKE_LEAVES, *found]


def _gradient(benchmark: GroupedBenchmark, runtime: RuntimeMode) -> list[str]:
    """Return the code for the gradient: undefined, as in y.backward(), or ones for an output of several elements."""
    output = _output_tensor(benchmark, runtime)
    chosen = f"if ({output}.numel() != 1) photometer_gradient = torch::ones_like({output});"
    return [
        "torch::Tensor photometer_gradient;",
        f"{{\n{_indented(_forward(benchmark, runtime) or '')}\n    {chosen}\n}}",
    ]


def cpp_sizes(sizes: SizePoint) -> list[str]:
    """Return a declaration per size."""
    return _swept(None, sizes)


def _swept(device: str | None, sizes: SizePoint) -> list[str]:
    lines = [f"const {_cpp_type(value)} {name} = {_cpp_literal(value)};" for name, value in sizes]
    return lines if device is None else [*lines, f'const torch::Device device("{device}");']


def _cpp_type(value: SizeValue) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, tuple):
        return "std::vector<int64_t>"
    return "int64_t" if isinstance(value, int) else "double" if isinstance(value, float) else "std::string"


def _cpp_literal(value: SizeValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "{" + ", ".join(str(item) for item in value) + "}"
    # JSON's escapes of text are C++'s too.
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _indented(code: str) -> str:
    return textwrap.indent(code, "    ")
