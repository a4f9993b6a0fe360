"""The Python text of a variant: its statement, its set-up, and the module that scripts its model.

In come a GroupedBenchmark and the AutoLabels of the variant, out comes code. Nothing is run, and torch is not imported.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from photometer.definition.grouped import GroupedBenchmark
from photometer.definition.python_names import definitions_in, names_of
from photometer.definition.sweep import SizePoint
from photometer.plan.auto_labels import AutogradMode, AutoLabels, RuntimeMode

# TorchScript's profiling executor optimises after two runs; torch.compile may recompile on the second.
WARM_UP_RUNS = 3
# Weights and inputs are drawn from the same seed in both languages, so that their results can be compared.
SEED = 0
# The set-up of a compiled variant stores the seconds of its first call in a global of this name.
COMPILE_SECONDS_NAME = "photometer_compile_seconds"
# What the first call of a compiled variant begins and ends with, each a line of its own.
FIRST_CALL_BEGINS = "photometer_start = photometer_time.perf_counter()"
FIRST_CALL_ENDS = f'globals()["{COMPILE_SECONDS_NAME}"] = photometer_time.perf_counter() - photometer_start'
# Before each run, as `optimizer.zero_grad()` does it: otherwise a run would also add to the gradients of the last.
CLEAR_GRADIENTS = "for photometer_leaf in photometer_leaves:\n    photometer_leaf.grad = None"
# What a worker that counts a compilation gives to the set-up (worker/compile_counts.py).
COUNT_COMPILE_NAME = "photometer_count_compile"


def python_statement(benchmark: GroupedBenchmark, auto: AutoLabels) -> str | None:
    """Return the measured code, or None if the benchmark has no Python."""
    stmt = benchmark.py_fwd_stmt
    if stmt is None:
        return None
    if auto.runtime is not RuntimeMode.EAGER:
        model = "jit_model" if auto.runtime is RuntimeMode.TORCHSCRIPT else "compiled_model"
        output = benchmark.signature_output
        stmt = f"{'' if output is None else f'{output} = '}{model}({_arguments(benchmark)})"
    if auto.autograd is AutogradMode.FORWARD_BACKWARD:
        stmt = f"{stmt}\n{benchmark.signature_output}.backward(photometer_gradient)"
        stmt = f"{CLEAR_GRADIENTS}\n{stmt}" if benchmark.grad_to_none else stmt
    return stmt


def gradient_leaves(names: Iterable[str]) -> str:
    """Return the line that finds the leaves whose gradients are cleared: tensors, and parameters of modules."""
    listed = "".join(f"{name}, " for name in names)
    parameters = f"for photometer_module in ({listed}) if isinstance(photometer_module, torch.nn.Module)"
    leaves = f"({listed}*(photometer_leaf {parameters} for photometer_leaf in photometer_module.parameters()))"
    wanted = 'if getattr(photometer_leaf, "requires_grad", False) and photometer_leaf.is_leaf'
    return f"photometer_leaves = [photometer_leaf for photometer_leaf in {leaves} {wanted}]"


def _leaves(benchmark: GroupedBenchmark, runtime: RuntimeMode) -> list[str]:
    models = ("jit_model",) if runtime is RuntimeMode.TORCHSCRIPT else ("model",) if benchmark.py_model_setup else ()
    return [gradient_leaves((*(benchmark.signature_args or ()), *models))] if benchmark.grad_to_none else []


def python_setup(benchmark: GroupedBenchmark, auto: AutoLabels, stmt: str, model_path: str) -> str:
    """Return everything before the first measured run: sizes and device, inputs, model, gradient, warm-up."""
    runtime, device = auto.runtime, auto.device if benchmark.devices else None
    parts = [f"torch.manual_seed({SEED})", *_swept(device, auto.sizes), benchmark.setup.py_setup]
    if "torch" in names_of(benchmark.setup.py_setup).bound:
        # The set-up imports torch itself, which makes the name local to the loop: import it before its first use.
        parts.insert(0, "import torch")
    if runtime is RuntimeMode.TORCHSCRIPT:
        parts.append(f'jit_model = torch.jit.load("{model_path}"{"" if device is None else ", map_location=device"})')
    else:
        parts += _eager_model(benchmark, device)
    if runtime is RuntimeMode.COMPILED:
        parts += _compiled_model(benchmark, auto)
    backward = auto.autograd is AutogradMode.FORWARD_BACKWARD
    parts += _leaves(benchmark, runtime) if backward else []
    gradient = _gradient(benchmark, stmt) if backward else []
    parts += timed_first_call(gradient, stmt) if runtime is RuntimeMode.COMPILED else gradient
    if runtime is not RuntimeMode.EAGER:
        parts.append(f"for photometer_run in range({WARM_UP_RUNS}):\n{_indented(stmt)}")
    return "\n".join(part for part in parts if part)


def scripting_source(benchmark: GroupedBenchmark, sizes: SizePoint) -> str:
    """Return a module that makes `jit_model` from the benchmark's statement or model."""
    header = f"import torch\ntorch.manual_seed({SEED})"
    # A scripted model is saved from the CPU and loaded onto its device.
    swept = "\n".join(_swept("cpu" if benchmark.devices else None, sizes))
    if benchmark.py_model_setup is not None:
        setup = benchmark.setup.py_setup if _reads_setup(benchmark) else ""
        body = [swept, setup, f"torch.manual_seed({SEED})", benchmark.py_model_setup]
    else:
        body = [_needed_definitions(benchmark), _function(benchmark, "model", _swept_inside(benchmark, sizes))]
    return "\n".join(part for part in [header, *body, "jit_model = torch.jit.script(model)"] if part) + "\n"


def _swept(device: str | None, sizes: SizePoint) -> list[str]:
    lines = [f"{name} = {value!r}" for name, value in sizes]
    return lines if device is None else [*lines, f'device = torch.device("{device}")']


def _swept_inside(benchmark: GroupedBenchmark, sizes: SizePoint) -> list[str]:
    """Return the sizes that the statement reads, for the scripted function: TorchScript does not see globals."""
    read = names_of(benchmark.py_fwd_stmt or "").free
    return [line for line in _swept("cpu" if "device" in read else None, sizes) if line.split(" ", 1)[0] in read]


def _eager_model(benchmark: GroupedBenchmark, device: str | None) -> list[str]:
    if benchmark.py_model_setup is None:
        return []
    moved = [] if device is None else ["model = model.to(device)"]
    # Seeded again: the weights do not depend on how many numbers the inputs took.
    return [f"torch.manual_seed({SEED})", benchmark.py_model_setup, *moved]


def _compiled_model(benchmark: GroupedBenchmark, auto: AutoLabels) -> list[str]:
    if benchmark.py_model_setup is not None:
        return [f"compiled_model = {auto.compile.call_text('model')}"]
    compiled = auto.compile.call_text("compiled_model")
    return [_function(benchmark, "compiled_model", []), f"compiled_model = {compiled}"]


def _gradient(benchmark: GroupedBenchmark, stmt: str) -> list[str]:
    """Return the code for the gradient: None for an output of one element, as in y.backward(), otherwise ones."""
    output = benchmark.signature_output
    forward = stmt.rsplit("\n", 1)[0]
    gradient = f"photometer_gradient = None if {output}.numel() == 1 else torch.ones_like({output})"
    return [forward, gradient, f"del {output}"]


def timed_first_call(gradient: list[str], stmt: str) -> list[str]:
    """Return the timed first call. The forward run for the gradient compiles too, so the clock starts before it."""
    return [
        "import time as photometer_time",
        FIRST_CALL_BEGINS,
        *gradient,
        stmt,
        FIRST_CALL_ENDS,
    ]


def counted_first_call(setup: str, *, twice: bool = False) -> str:
    """Return the set-up of a compiled variant with its first call counted by the worker (compile_counts.py).

    With `twice`, it is compiled once before, for the worker to see which functions the compiler calls.
    """
    before, _, rest = setup.partition(FIRST_CALL_BEGINS)
    call, _, after = rest.partition(FIRST_CALL_ENDS)
    seen = [f"{COUNT_COMPILE_NAME}.watch()", call.strip("\n")] if twice else []
    counted = [f"{COUNT_COMPILE_NAME}.begin()", call.strip("\n"), f"{COUNT_COMPILE_NAME}.end()"]
    return before + "\n".join([*seen, *counted]) + after


def _function(benchmark: GroupedBenchmark, name: str, first_lines: list[str]) -> str:
    """Return the statement as the body of a function of the signature's arguments."""
    body = "\n".join([*first_lines, benchmark.py_fwd_stmt or "", f"return {benchmark.signature_output}"])
    return f"def {name}({_arguments(benchmark)}):\n{_indented(body)}"


def _needed_definitions(benchmark: GroupedBenchmark) -> str:
    setup = benchmark.setup.py_setup
    read = names_of(benchmark.py_fwd_stmt or "").free
    return definitions_in(setup) if any(name in names_of(setup).definitions for name in read) else ""


def _reads_setup(benchmark: GroupedBenchmark) -> bool:
    made = names_of(benchmark.setup.py_setup)
    return made.opaque or any(name in made.bound for name in names_of(benchmark.py_model_setup or "").free)


def _arguments(benchmark: GroupedBenchmark) -> str:
    return ", ".join(benchmark.signature_args or ())


def _indented(code: str) -> str:
    return textwrap.indent(code, "    ")
