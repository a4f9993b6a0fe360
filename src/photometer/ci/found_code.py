"""Find what a project has to measure, without running any of it: functions of tensors, and modules.

In: the folder of a project. Out: its packages, and FoundCode. Functions whose arguments are annotated as tensors can be
called with random ones; for others only the author knows the inputs.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from pathlib import Path

# A first suite should be short enough to read; its author adds the rest by example.
MOST_FOUND = 12
MOST_FILES = 500
# Where packages are in a repository.
_ROOTS = ("src", "")
_NOT_PACKAGES = {"tests", "test", "docs", "doc", "benchmarks", "examples", "scripts", "build", "dist", "tools"}


@dataclasses.dataclass(frozen=True)
class FoundCode:
    """A public function or class. `tensors` are its required arguments if all are tensors, otherwise None."""

    module: str
    name: str
    kind: str
    tensors: tuple[str, ...] | None

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"


def find_packages(folder: Path) -> tuple[Path, ...]:
    """Return the package folders of a project: those in src/, or those beside it if there are none."""
    for root in _ROOTS:
        place = folder / root
        found = sorted(file.parent for file in place.glob("*/__init__.py") if file.parent.name not in _NOT_PACKAGES)
        if found:
            return tuple(found)
    return ()


def find_code(packages: tuple[Path, ...]) -> tuple[FoundCode, ...]:
    """Return what could be measured, functions that can be called with tensors first."""
    found = [
        code
        for package in packages
        for file in sorted(package.rglob("*.py"))[:MOST_FILES]
        for code in _in_file(file, package.parent)
    ]
    found.sort(key=lambda code: code.tensors is None)
    return tuple(found[:MOST_FOUND])


def _in_file(file: Path, root: Path) -> Iterator[FoundCode]:
    parts = file.relative_to(root).with_suffix("").parts
    if any(part.startswith("_") and part != "__init__" for part in parts) or set(parts) & _NOT_PACKAGES:
        return
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError, RecursionError):
        return
    module = ".".join(part for part in parts if part != "__init__")
    imports_torch = any(
        "torch" in ast.dump(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)
    )
    if not imports_torch:
        return
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield FoundCode(module, node.name, "function", _tensors(node.args))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and _is_module(node):
            yield FoundCode(module, node.name, "module", None)


def _is_module(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).split(".")[-1] == "Module" for base in node.bases)


def _tensors(arguments: ast.arguments) -> tuple[str, ...] | None:
    """Return the names of the required arguments, if all are annotated as tensors."""
    positional = [*arguments.posonlyargs, *arguments.args]
    needed = positional[: len(positional) - len(arguments.defaults)]
    needed += [each for each, given in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if given is None]
    if not needed or arguments.kwonlyargs:
        return None
    for each in needed:
        annotation = "" if each.annotation is None else ast.unparse(each.annotation).strip("'\"")
        if annotation.split(".")[-1] != "Tensor":
            return None
    return tuple(each.arg for each in needed)
