"""Public names and their signatures change on purpose, and docs and examples need no others.

If a change is meant, `scripts/write-public-names` writes the list anew, and the difference is in the commit.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator

import pytest

import photometer
from tests.guards.public_names import FILE, public_names
from tests.guards.sources import ROOT, none_of, place

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON_BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# Public by their own path: torch's paths (docs/from-torch.md), the switch that puts us in torch's place, and suites,
# which are files that users extend.
PUBLIC_MODULES = ("photometer.utils", "photometer.as_torch", "photometer.suites", "photometer.op_fuzzers")
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
