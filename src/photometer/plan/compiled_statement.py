"""One statement of a user as a compiled work order, for `photometer compile-report`.

In: a statement, its set-up, torch.compile's arguments and sizes. Out: the order that the plan would make of a benchmark
with `compiled=`, and the code that calls the compiled function with every other size of its sweep, to see how often
torch recompiles. A statement that calls torch.compile itself is left as it is.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Collection

from photometer.definition.checks import has_word
from photometer.definition.compile_variant import CompileVariant
from photometer.definition.grouped import GroupedBenchmark, GroupedSetup
from photometer.definition.place import definition_error
from photometer.definition.python_names import ALWAYS_THERE, check_python_syntax, names_of
from photometer.definition.signature import parse_signature
from photometer.definition.suite import content_hash
from photometer.definition.sweep import SizePoint
from photometer.definition.timer_args import TimerArgs
from photometer.model.task import Language
from photometer.plan.auto_labels import AutogradMode, AutoLabels, RuntimeMode
from photometer.plan.codegen_python import SEED, python_setup, python_statement, timed_first_call
from photometer.plan.work_order import WorkOrder


def eager_args(benchmark: GroupedBenchmark, auto: AutoLabels) -> TimerArgs | None:
    """Return the code of the eager variant beside a compiled one; None for other variants."""
    if auto.runtime is not RuntimeMode.COMPILED or auto.language is not Language.PYTHON:
        return None
    eager = dataclasses.replace(auto, runtime=RuntimeMode.EAGER, compile=CompileVariant())
    text = python_statement(benchmark, eager) or ""
    setup = python_setup(benchmark, eager, text, "")
    return TimerArgs(text, setup, "", auto.num_threads, Language.PYTHON, check=False)


def other_sizes(benchmark: GroupedBenchmark, auto: AutoLabels, stmt: str) -> tuple[str, ...]:
    """Return for each further size its inputs and the call; nothing if this is not the first size, or not compiled.

    A model whose weights depend on the size is another model at each, so there is nothing to recompile.
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
    """Return the statements of a set-up that read a size, or a value that was made from one.

    The rest runs once: a function or a model that is made again is another one, which torch compiles again.
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


# What an expression computes is bound to this name: a function that returns nothing has nothing to compute.
OUTPUT = "compiled_result"


def compiled_statement(
    stmt: str,
    setup: str = "pass",
    variant: CompileVariant = CompileVariant(),  # noqa: B008 - frozen, so sharing it is safe
    *,
    sizes: tuple[SizePoint, ...] = ((),),
    num_threads: int = 1,
    timeout_seconds: float = 600.0,
) -> WorkOrder:
    """Return the order of the first size; it has the code that calls the function with the others."""
    check_python_syntax(setup, "setup")
    check_python_syntax(stmt, "the statement")
    auto = AutoLabels(
        RuntimeMode.COMPILED, AutogradMode.FORWARD, Language.PYTHON, num_threads, sizes=sizes[0], compile=variant
    )
    if _compiles_itself(setup) or _compiles_itself(stmt):
        args, later = _as_it_is(stmt, setup, auto, sizes)
        eager = None
    else:
        benchmark = _benchmark(stmt, setup, variant, sizes)
        text = python_statement(benchmark, auto) or ""
        args = TimerArgs(text, python_setup(benchmark, auto, text, ""), "", num_threads, Language.PYTHON, check=False)
        later = other_sizes(benchmark, auto, text)
        eager = eager_args(benchmark, auto)
    identity = content_hash([args.stmt, args.setup, num_threads])
    order = WorkOrder(identity, (stmt.strip().splitlines()[0],), auto, args, timeout_seconds=timeout_seconds)
    return dataclasses.replace(order, recompile_with=later, eager_args=eager)


def _compiles_itself(code: str) -> bool:
    """Whether it calls torch.compile, or is decorated with it."""
    return any(isinstance(node, ast.Attribute) and node.attr == "compile" for node in ast.walk(ast.parse(code)))


def _as_it_is(
    stmt: str, setup: str, auto: AutoLabels, sizes: tuple[SizePoint, ...]
) -> tuple[TimerArgs, tuple[str, ...]]:
    first, *others = (_assignments(point) for point in sizes)
    text = "\n".join([f"torch.manual_seed({SEED})", *first, setup, *timed_first_call([], stmt)])
    args = TimerArgs(stmt, text, "", auto.num_threads, Language.PYTHON, check=False)
    inputs = size_dependent(setup, {name for name, _ in sizes[0]})
    return args, tuple("\n".join([*assigned, inputs, stmt]) for assigned in others)


def _assignments(point: SizePoint) -> list[str]:
    return [f"{name} = {value!r}" for name, value in point]


def _benchmark(stmt: str, setup: str, variant: CompileVariant, sizes: tuple[SizePoint, ...]) -> GroupedBenchmark:
    text, output = _with_output(stmt)
    read, made = names_of(text), names_of(setup)
    swept = {name for name, _ in sizes[0]}
    arguments = [
        name
        for name in read.free
        if name not in ALWAYS_THERE and name not in swept and name not in made.definitions and has_word(setup, name)
    ]
    return GroupedBenchmark(
        py_fwd_stmt=text,
        cpp_fwd_stmt=None,
        setup=GroupedSetup("" if setup.strip() == "pass" else setup),
        signature=parse_signature(f"f({', '.join(arguments)}) -> {output}"),
        compiled=(variant,),
        sizes=sizes,
    )


def _with_output(stmt: str) -> tuple[str, str]:
    """Return the statement with its last value bound to a name, and that name."""
    tree = ast.parse(stmt)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        bound = ast.Assign([ast.Name(OUTPUT, ast.Store())], last.value)
        tree.body[-1] = ast.copy_location(bound, last)
        return ast.unparse(ast.fix_missing_locations(tree)), OUTPUT
    names = sorted(names_of(stmt).bound)
    if not names:
        raise definition_error(
            "the statement computes nothing that can be returned", remedy="Give an expression, or assign its result."
        )
    targets = getattr(last, "targets", None) or [getattr(last, "target", None)]
    target = targets[-1]
    return stmt, target.id if isinstance(target, ast.Name) else names[-1]
