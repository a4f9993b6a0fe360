"""The shape of the tree: files with telling names, every module described, every public name there.

How long a module is depends on what lives in it. Complexity is limited instead: ruff does that for every function. The
limit of lines here only stops a file that grows unnoticed.
"""

from __future__ import annotations

import ast
import itertools
import re
import sys

import pytest

import photometer
from tests.guards.sources import PACKAGE, ROOT, SOURCES, TESTS, imports, none_of, parsed, place

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Design asks for 100 to 500 lines; one concept has never needed more than this.
MOST_LINES = 800
# McCabe's own advice is 10; two more leave room for a match over the kinds of a record.
MOST_COMPLEXITY = 12
VAGUE_NAMES = {"utils", "util", "common", "helpers", "helper", "core", "misc"}
# Folders of tests of the whole: commands as users type them, hostile input, pages in a browser, the package itself.
OF_MORE_THAN_A_MODULE = {"journeys", "guards", "docs", "hostile", "package", "platforms", "browser"}
# Here the names are torch's: code that imports from torch.utils.benchmark.utils finds them.
TORCHS_PATHS = PACKAGE / "utils"
# The one place that reads pickles, on request, and only those that consist of torch's results.
READS_PICKLES = PACKAGE / "torch_pickle.py"


def test_complexity_is_limited() -> None:
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
    assert {"C90", "PLR"} <= set(lint["select"])
    assert lint["mccabe"]["max-complexity"] <= MOST_COMPLEXITY
    # Branches, statements and returns of a function are limited by these; only counts of arguments have exceptions.
    assert not {"C901", "PLR0911", "PLR0912", "PLR0915"} & set(lint["ignore"])
    none_of(
        f"{pattern} ignores {code}"
        for pattern, codes in lint["per-file-ignores"].items()
        for code in codes
        if pattern.startswith("src/") and code in {"C90", "C901", "PLR", "PLR0911", "PLR0912", "PLR0915"}
    )


def test_no_file_grows_unnoticed() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in [*SOURCES, *TESTS]}
    none_of(f"{place(path)}: {lines} lines" for path, lines in lengths.items() if lines > MOST_LINES)


def test_modules_have_telling_names() -> None:
    none_of(place(path) for path in SOURCES if path.stem in VAGUE_NAMES and path.parent != TORCHS_PATHS)


def test_modules_say_what_lives_there() -> None:
    none_of(place(path) for path in SOURCES if parsed(path).body and not ast.get_docstring(parsed(path)))


def test_tests_are_found_by_the_name_of_a_module() -> None:
    """A test of a module is called test_MODULE.py, or test_MODULE_ASPECT.py."""
    modules = {path.stem for path in SOURCES} | {path.parent.name for path in SOURCES}
    tests = [path for path in TESTS if path.stem.startswith("test_")]
    none_of(
        f"{place(path)} is named after no module"
        for path in tests
        if not OF_MORE_THAN_A_MODULE & set(path.relative_to(ROOT / "tests").parts)
        and not modules & set(itertools.accumulate(path.stem.split("_")[1:], "{}_{}".format))
    )


def test_public_names_exist() -> None:
    for name in photometer.__all__:
        assert getattr(photometer, name) is not None
    assert set(photometer.__all__) <= set(dir(photometer))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = photometer.nothing


def test_type_checkers_see_the_same_names() -> None:
    tree = parsed(PACKAGE / "__init__.py")
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert seen == photometer._HOME


def test_timer_is_the_clock_and_not_a_module() -> None:
    # photometer/timing.py is not called timer.py for this reason: torch.utils.benchmark.timer is a function.
    assert callable(photometer.timer)
    assert isinstance(photometer.timer(), float)


def test_version_is_the_same_everywhere() -> None:
    # setuptools reads it from photometer/__init__.py.
    declared = (ROOT / "pyproject.toml").read_text()
    assert 'dynamic = ["version"]' in declared
    assert 'version = { attr = "photometer.__version__" }' in declared
    assert re.search(r'^version = "', declared, re.MULTILINE) is None
    assert f"## {photometer.__version__} – " in (ROOT / "CHANGELOG.md").read_text()
    assert f"\nversion: {photometer.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_no_shell() -> None:
    none_of(
        place(path, node.value.lineno)
        for path in SOURCES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.keyword) and node.arg == "shell"
    )


def test_no_pickle() -> None:
    none_of(
        f"{place(path, line)} imports {name}"
        for path in SOURCES
        for name, line in imports(path)
        if name.split(".")[0] in {"pickle", "marshal", "shelve"} and path != READS_PICKLES
    )
