"""Public names and their signatures change on purpose, and docs and examples need no others.

If a change is meant, `scripts/write-public-names` writes the list anew, and the difference is in the commit.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch.utils.benchmark as torch_benchmark

import photometer
from tests.guards.public_names import FILE, MODULES, names_in, public_names
from tests.guards.sources import ROOT, none_of, place

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON_BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# Public by their own path: torch's paths (docs/from-torch.md), the switch that puts us in torch's place, and our own.
PUBLIC_MODULES = ("photometer.utils", "photometer.as_torch", "photometer.op_fuzzers", *MODULES[1:])
# Methods that other parts of photometer use, and one that torch has.
FOR_PHOTOMETER_ITSELF = {
    "Compare.tables",
    "WorkOrder.auto_labels",
    "WorkOrder.name",
    "ComparisonSettings.question_of",
    "ComparisonSettings.criteria",
    "CopyIfCallgrind.serialization",
    "Store.engine",
    "Store.open_run",
}
# These explain how photometer is built.
ABOUT_THE_INSIDE = {"architecture.md"}


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="signatures are written with Python 3.11")
def test_public_names_are_those_of_the_list() -> None:
    assert public_names() == FILE.read_text(), "if this is meant: scripts/write-public-names"


def public_values() -> dict[str, Any]:
    return {name: getattr(importlib.import_module(module), name) for module in MODULES for name in names_in(module)}


def undocumented() -> Iterator[str]:
    for name, value in public_values().items():
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        if not own_docstring(value):
            yield name
        for attribute, found in vars(value).items() if inspect.isclass(value) else ():
            function = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
            public = not attribute.startswith("_") and inspect.isfunction(function)
            if (
                public
                and function.__module__.startswith("photometer")
                and not inspect.getdoc(getattr(value, attribute))
            ):
                yield f"{name}.{attribute}"


def own_docstring(value: object) -> bool:
    """Return whether somebody wrote it: a dataclass without one gets its signature."""
    text = getattr(value, "__doc__", None) or ""
    return bool(text) and not text.startswith(f"{getattr(value, '__name__', '')}(")


def test_public_names_have_docstrings() -> None:
    none_of(undocumented())


def imported(code: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module or "")
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.split(".")[0] == "photometer"}


def inner_names(code: str) -> set[str]:
    return {name for name in imported(code) if name != "photometer" and not name.startswith(PUBLIC_MODULES)}


def test_pages_import_from_photometer_only() -> None:
    """What a page needs is made public in photometer/__init__.py."""
    none_of(
        f"{place(page)} imports {name}"
        for page in PAGES
        if page.name not in ABOUT_THE_INSIDE
        for match in PYTHON_BLOCK.finditer(page.read_text())
        for name in sorted(inner_names(match[1]))
    )


def test_examples_import_from_photometer_only() -> None:
    none_of(f"{place(path)} imports {name}" for path in EXAMPLES for name in sorted(inner_names(path.read_text())))


def classes_of_ours() -> set[str]:
    trees = (ast.parse(path.read_text()) for path in (ROOT / "src" / "photometer").rglob("*.py"))
    return {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def unknown_results() -> Iterator[str]:
    public, ours = public_values(), classes_of_ours()
    for name, function in public_functions(public):
        returned = str(inspect.signature(function).return_annotation)
        for word in sorted(set(re.findall(r"\w+", returned)) & ours - public.keys()):
            # Other names are of unions and literals, which say what they are.
            if name not in FOR_PHOTOMETER_ITSELF and inspect.isclass(function.__globals__.get(word, object)):
                yield f"{name} returns {word}"


def public_functions(public: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield functions, and methods and properties of classes."""
    for name, value in public.items():
        if inspect.isfunction(value):
            yield name, value
        for attribute, found in vars(value).items() if inspect.isclass(value) else ():
            function = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
            if not attribute.startswith("_") and inspect.isfunction(function):
                yield f"{name}.{attribute}", function


def test_what_public_functions_and_methods_return_is_public() -> None:
    none_of(unknown_results())


def test_no_name_at_the_top_is_also_a_module() -> None:
    package = Path(photometer.__file__).parent
    none_of(name for name in photometer._HOME if (package / f"{name}.py").exists() or (package / name).is_dir())


def test_the_top_has_what_torch_has_and_little_besides() -> None:
    torchs = {name for name in vars(torch_benchmark) if not name.startswith("_")} & photometer._HOME.keys()
    # What the commands do, what suites are made of, and what these give back.
    assert len(photometer._HOME) - len(torchs) <= 30
