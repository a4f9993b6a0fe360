"""Which names a piece of Python text reads and binds, from its syntax tree, without running it.

In comes the author's text; out come `PythonNames`, or a DefinitionError that shows where the syntax is wrong.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
from collections.abc import Iterable

from photometer.definition.place import definition_error, excerpt

# Visible in every snippet without being defined in it.
ALWAYS_THERE = frozenset(dir(builtins)) | {"torch"}
# A text that calls one of these may bind names that the syntax tree does not show.
_OPAQUE_CALLS = frozenset({"exec", "globals", "locals", "vars"})


@dataclasses.dataclass(frozen=True)
class PythonNames:
    """`free`: names read before they are bound, with (line, column). `opaque`: more may be bound than is visible."""

    free: dict[str, tuple[int, int]]
    bound: frozenset[str]
    opaque: bool
    definitions: frozenset[str]


def check_python_syntax(code: str, name: str) -> None:
    """Raise an error that shows where `code` stops being Python."""
    try:
        _compile(code)
    except SyntaxError as error:
        line, column = (error.lineno or 1) - 1, (error.offset or 1) - 1
        raise definition_error(
            f"{name} is not Python: {error.msg}", shown=excerpt(code, line, column), remedy=f"Correct {name}."
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        # A NUL, a lone surrogate, or thousands of brackets: Python does not say where.
        raise definition_error(
            f"{name} is not Python: {str(error) or 'it is nested too deeply'}",
            shown=excerpt(code, 0),
            remedy=f"Correct {name}.",
        ) from None


@functools.lru_cache(maxsize=4096)
def _compile(code: str) -> None:
    # Not ast.parse: `return` outside a function parses, but does not compile. Cached: many groups share a set-up.
    compile(code, "<snippet>", "exec")


@functools.lru_cache(maxsize=4096)
def names_of(code: str) -> PythonNames:
    """Return what `code` (which must parse) reads, binds, imports and defines."""
    visitor = _NameVisitor()
    visitor.visit(ast.parse(code))
    return PythonNames(visitor.free, frozenset(visitor.bound), visitor.opaque, frozenset(visitor.definitions))


@functools.lru_cache(maxsize=1024)
def definitions_in(code: str) -> str:
    """Return the imports, functions and classes at the top level of `code`, which a scripted function may need."""
    lines = code.splitlines()
    kept: list[str] = []
    for node in ast.parse(code).body:
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)):
            decorators = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
            kept.extend(lines[first - 1 : node.end_lineno])
    return "\n".join(kept)


class _NameVisitor(ast.NodeVisitor):
    """Walks in the order of execution, as far as text shows it: a target is bound after its value is read."""

    def __init__(self, bound: Iterable[str] = ()) -> None:
        self.free: dict[str, tuple[int, int]] = {}
        self.bound: set[str] = set(bound)
        self.definitions: set[str] = set()
        self.opaque = False

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.bound.add(node.id)
        elif node.id not in self.bound:
            self.free.setdefault(node.id, (node.lineno - 1, node.col_offset))
            self.opaque = self.opaque or node.id in _OPAQUE_CALLS

    def visit_Assign(self, node: ast.Assign) -> None:
        self._visit_all([node.value, *node.targets])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._visit_all([node.annotation, node.value, node.target] if node.value else [node.annotation])

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if isinstance(node.target, ast.Name):
            self.visit_Name(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
        self.visit(node.target)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self._visit_all([node.value, node.target])

    def visit_For(self, node: ast.For) -> None:
        self._visit_all([node.iter, node.target, *node.body, *node.orelse])

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self._comprehension(node.generators, [node.elt])

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self._comprehension(node.generators, [node.elt])

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self._comprehension(node.generators, [node.elt])

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._comprehension(node.generators, [node.key, node.value])

    def visit_Import(self, node: ast.Import) -> None:
        self._define(alias.asname or alias.name.split(".")[0] for alias in node.names)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self._define(alias.asname or alias.name for alias in node.names)
        self.opaque = self.opaque or any(alias.name == "*" for alias in node.names)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._visit_all(node.decorator_list)
        self._define([node.name])
        self._function(node.args, node.body)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._function(node.args, [node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_all([*node.decorator_list, *node.bases, *node.keywords])
        self._define([node.name])
        self._inner(node.body, ())

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.bound.add(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name:
            self.bound.add(node.name)
        self.generic_visit(node)

    def _visit_all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def _define(self, names: Iterable[str]) -> None:
        for name in names:
            self.bound.add(name)
            self.definitions.add(name)

    def _comprehension(self, generators: list[ast.comprehension], results: list[ast.expr]) -> None:
        outside = set(self.bound)
        for generator in generators:
            self._visit_all([generator.iter, generator.target, *generator.ifs])
        self._visit_all(results)
        self.bound = outside

    def _function(self, arguments: ast.arguments, body: list[ast.stmt] | list[ast.expr]) -> None:
        self._visit_all([default for default in [*arguments.defaults, *arguments.kw_defaults] if default is not None])
        names = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        self._inner(body, [argument.arg for argument in names if argument is not None])

    def _inner(self, body: list[ast.stmt] | list[ast.expr], own_names: Iterable[str]) -> None:
        """Visit an inner scope: names bound there stay inside, names read from outside are read here."""
        inner = _NameVisitor(self.bound | set(own_names))
        inner._visit_all(body)
        self.opaque = self.opaque or inner.opaque
        for name, place in inner.free.items():
            self.free.setdefault(name, place)
