"""Public names and their signatures change on purpose, and docs and examples need no others.

If a change is meant, `scripts/write-public-names` writes the list anew, and the difference is in the commit.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import photometer
from tests.guards.public_names import FILE, public_names

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# Public by their own path: torch's paths (docs/from-torch.md), the switch that puts us in torch's place, and suites,
# which are files that users extend.
PUBLIC_MODULES = ("photometer.utils", "photometer.as_torch", "photometer.suites", "photometer.op_fuzzers")
# Properties whose name and type are all that can be said.
SAY_IT_BY_THEIR_NAME: set[str] = set()
# These explain how photometer is built.
ABOUT_THE_INSIDE = {"architecture.md"}


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="signatures are written with Python 3.11")
def test_public_names_are_those_of_the_list() -> None:
    assert public_names() == FILE.read_text(), "if this is meant: scripts/write-public-names"


def undocumented() -> Iterator[str]:
    for name in photometer._HOME:
        value = getattr(photometer, name)
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
    missing = set(undocumented()) - SAY_IT_BY_THEIR_NAME
    assert not missing, f"these have no docstring: {', '.join(sorted(missing))}"


def imported(code: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module or "")
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.split(".")[0] == "photometer"}


def assert_public(names: set[str], where: str) -> None:
    inner = {name for name in names if name != "photometer" and not name.startswith(PUBLIC_MODULES)}
    assert not inner, f"{where} imports {', '.join(sorted(inner))}; make what it needs public in photometer/__init__.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_import_from_photometer_only(page: Path) -> None:
    if page.name in ABOUT_THE_INSIDE:
        return
    for match in re.finditer(r"^```python[^\n]*\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        assert_public(imported(match[1]), page.name)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_import_from_photometer_only(example: Path) -> None:
    assert_public(imported(example.read_text()), example.name)
