"""The code that calls one compiled function with every other size of its sweep, to see how often torch recompiles.

In come a group and the labels of its first compiled size; out comes a text per further size. Nothing is run.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from photometer.definition.grouped import GroupedBenchmark
from photometer.definition.python_names import names_of
from photometer.model.language import Language
from photometer.plan.auto_labels import AutoLabels, RuntimeMode
from photometer.plan.codegen_python import SEED


def other_sizes(benchmark: GroupedBenchmark, auto: AutoLabels, stmt: str) -> tuple[str, ...]:
    """Return for each further size its inputs and the call; nothing if this is not the first size, or not compiled.

    A model whose weights depend on the size is another model at each: there is nothing to compile again.
    """
    is_first = auto.runtime is RuntimeMode.COMPILED and auto.sizes == benchmark.sizes[0]
    if not is_first or auto.language is not Language.PYTHON or len(benchmark.sizes) == 1:
        return ()
    swept = {name for name, _ in auto.sizes}
    inputs = size_dependent(benchmark.setup.py_setup, swept)
    if swept & set(names_of(benchmark.py_model_setup or "").free):
        return ()
    texts = []
    for sizes in benchmark.sizes[1:]:
        values = [f"{name} = {value!r}" for name, value in sizes]
        texts.append("\n".join([f"torch.manual_seed({SEED})", *values, inputs, stmt]))
    return tuple(texts)


def size_dependent(setup: str, swept: Collection[str]) -> str:
    """Return those statements of a set-up that read a size, or what was made from one.

    The rest stays as it is: a function or a model that is made anew is another one, which torch compiles again.
    """
    changed, kept = set(swept), []
    for node in ast.parse(setup).body:
        text = ast.unparse(node)
        names = names_of(text)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or not changed & set(names.free):
            continue
        changed |= names.bound
        kept.append(text)
    return "\n".join(kept)
