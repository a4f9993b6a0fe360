"""Preload: the imports of set-ups, found in their text, so that a zygote can import them once for all forks.

In: the text of set-ups and statements. Out: import statements, in their order. An import is left to the set-up if
something before it may change what it imports: the path, the environment, or the state of another module. A child runs
the same statements before it seeds random numbers and runs the set-up, so the result is the same whether or not its
zygote has run them. Standard library only.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from .accelerators import names_accelerator

# What a statement that uses one of these does to later imports cannot be seen in its text.
_MAY_CHANGE_IMPORTS = frozenset(
    ("sys", "os", "site", "importlib", "pkgutil", "builtins", "exec", "eval", "setattr", "delattr", "__import__")
)
# Seeds do not change what an import does; one that draws random numbers is not shared anyway.
_SEEDS = frozenset(("seed", "manual_seed", "manual_seed_all"))
# Torch has imported these, and most of the standard library; the rest of that is quickly imported.
_HAVE_IMPORTED = frozenset(("torch", "torch.nn", "torch.nn.functional", "torch.autograd", "numpy"))
# Of photometer's own probes (plan/probes), whose folder comes with their request.
_OF_PROBES = frozenset(("photometer_result",))

DYNAMO = (
    "import torch._dynamo",
    # The first compilation imports these and 400 more modules, for whatever backend.
    "import torch._functorch.aot_autograd",
    "import torch._dynamo.repro.after_dynamo",
    "import torch._dynamo.backends.debugging",
    "import torch._dynamo.backends.distributed",
)
COMPILER = (*DYNAMO, "import torch._inductor.compile_fx")
"""What torch.compile imports when it is first called, which takes several seconds."""
COMPILER_FOR_DEVICES = ("import torch._dynamo", "import torch._functorch.aot_autograd")
"""The same for an accelerator, with five of the seven seconds: the import of Inductor itself asks CUDA for its devices,
and a process that was forked after that cannot use them."""


def imports_of(setup: str, stmt: str = "", modules: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the import statements that a zygote can do for a set-up, after those of `modules` (a suite's PRELOAD).

    If the set-up or the statement calls torch.compile, the compiler's own modules are added.
    """
    named = [f"import {module}" for module in modules]
    return tuple(dict.fromkeys([*named, *_leading_imports(setup), *_compiler_of(setup, stmt)]))


@functools.lru_cache(maxsize=4096)
def modules_of(statements: tuple[str, ...], folders: tuple[str, ...]) -> tuple[str, ...]:
    """Return statements that import the same modules, and no names from them, so that benchmarks can share them.

    `from a import b` imports `a`, and `a.b` if that is a module in one of the folders.
    """
    found: dict[str, None] = {}
    for statement in statements:
        node = ast.parse(statement).body[0]
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and all(alias.name != "*" for alias in node.names):
            inside = [alias.name for alias in node.names if _is_submodule(node.module, alias.name, folders)]
            names = [node.module, *(f"{node.module}.{name}" for name in inside)]
        else:
            found[statement] = None
            continue
        found.update(dict.fromkeys(f"import {name}" for name in names))
    return tuple(found)


def _is_submodule(package: str, name: str, folders: tuple[str, ...]) -> bool:
    """Return whether a package, in the first folder that has it, has a module of that name."""
    for folder in folders:
        place = Path(folder, *package.split("."))
        if place.is_dir():
            return any(entry.name.partition(".")[0] == name for entry in place.iterdir())
    return False


@functools.lru_cache(maxsize=4096)
def _leading_imports(text: str) -> tuple[str, ...]:
    found: list[str] = []
    imported: set[str] = set()
    for node in _parsed(text):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imported.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
            if _names_something_new(node):
                found.append(ast.unparse(node))
        elif _may_change_imports(node, imported):
            break
    return tuple(found)


@functools.lru_cache(maxsize=4096)
def _compiler_of(setup: str, stmt: str) -> tuple[str, ...]:
    if "compile" not in setup and "compile" not in stmt:
        return ()
    calls = [call for text in (setup, stmt) for node in _parsed(text) for call in _compile_calls(node)]
    if not calls:
        return ()
    if names_accelerator(f"{setup}\n{stmt}"):
        return COMPILER_FOR_DEVICES
    return COMPILER if any(_uses_inductor(call) for call in calls) else DYNAMO


def _compile_calls(node: ast.AST) -> Iterable[ast.expr]:
    """Return the calls of torch.compile, and its uses as a decorator."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and ast.unparse(part.func) == "torch.compile":
            yield part
        elif isinstance(part, ast.FunctionDef | ast.ClassDef):
            yield from (each for each in part.decorator_list if ast.unparse(each) == "torch.compile")


def _uses_inductor(call: ast.expr) -> bool:
    """Return whether a call of torch.compile uses its default backend, or may do so."""
    keywords = {keyword.arg: keyword.value for keyword in call.keywords} if isinstance(call, ast.Call) else {}
    backend = keywords.get("backend")
    return not isinstance(backend, ast.Constant) or backend.value == "inductor"


def _parsed(text: str) -> list[ast.stmt]:
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # Whoever runs it says so.
        return []


def _names_something_new(node: ast.Import | ast.ImportFrom) -> bool:
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    known = _HAVE_IMPORTED | _OF_PROBES
    in_library = all(name in known or name.partition(".")[0] in sys.stdlib_module_names for name in names)
    return not in_library and not getattr(node, "level", 0)


def _may_change_imports(statement: ast.stmt, imported: set[str]) -> bool:
    """Return whether a statement may change what later imports do, judged by its text."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not statement.decorator_list:
        # The body of a function runs later, if at all; that of a class at once.
        body = statement.body if isinstance(statement, ast.ClassDef) else []
        return any(_may_change_imports(part, imported) for part in body)
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and node.id in _MAY_CHANGE_IMPORTS:
            return True
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            return True
        if isinstance(node, ast.Expr) and _calls_a_module(node.value, imported | {"torch"}):
            return True
    return False


def _calls_a_module(expression: ast.expr, modules: set[str]) -> bool:
    """Return whether it is a call like `matplotlib.use("Agg")`, whose result is not used."""
    if not isinstance(expression, ast.Call):
        return False
    function = expression.func
    if isinstance(function, ast.Attribute) and function.attr in _SEEDS:
        return False
    while isinstance(function, ast.Attribute):
        function = function.value
    return isinstance(function, ast.Name) and function.id in modules
