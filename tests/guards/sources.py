"""The files that the guards read, each parsed once; and one way to fail that lists all offenders."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

Thing = TypeVar("Thing")

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "photometer"
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# A block of code that is a file: <!-- file: my_suite.py --> stands on the line before it.
SHOWN_FILE = re.compile(r"^<!-- file: (\S+) -->\n```[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the absolute names that a file imports, anywhere in it, each with its line."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            for name in imported_from(node, path):
                yield name, node.lineno


def imported_from(node: ast.ImportFrom, path: Path) -> list[str]:
    if node.level:
        base = ".".join(["photometer", *path.relative_to(PACKAGE).parts[: -node.level]])
        return [f"{base}.{node.module}" if node.module else base]
    if node.module == "photometer":
        return [f"photometer.{alias.name}" for alias in node.names]
    return [node.module or ""]


def shown_files(page: Path) -> dict[str, str]:
    """Return the files that a page shows, by name."""
    return dict(SHOWN_FILE.findall(page.read_text()))


def write_files(page: Path, folder: Path) -> None:
    """Write the files that a page shows, as its reader would."""
    for name, text in shown_files(page).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def place(path: Path, line: int | None = None) -> str:
    """Return how a file is named in a list of offenders."""
    name = str(path.relative_to(ROOT))
    return name if line is None else f"{name}:{line}"


def none_of(offenders: Iterable[str]) -> None:
    """Fail with all offenders, one per line, if there are any."""
    found = list(offenders)
    assert not found, "\n".join([f"{len(found)} found:", *found])


def check_each(things: Iterable[Thing], check: Callable[[Thing], None]) -> None:
    """Check all things, then fail with what was found wrong with any of them."""
    found = []
    for thing in things:
        try:
            check(thing)
        except AssertionError as failure:
            found.append(f"{thing}: {failure}")
    none_of(found)
