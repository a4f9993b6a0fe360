"""The shape of the tree: small files with telling names, every module described, every public name there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import photometer

ROOT = Path(__file__).parents[2]
MOST_LINES = 400
VAGUE_NAMES = {"utils", "util", "common", "helpers", "helper", "core", "misc"}
# Here the names are torch's: code that imports from torch.utils.benchmark.utils finds them.
TORCHS_PATHS = ROOT / "src" / "photometer" / "utils"
# The one place that reads pickles, on request, and only those that consist of torch's results.
READS_PICKLES = ROOT / "src" / "photometer" / "torch_pickle.py"
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))


@pytest.mark.parametrize("path", [*SOURCES, *TESTS], ids=lambda p: str(p.relative_to(ROOT)))
def test_files_stay_small(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MOST_LINES


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_modules_say_what_lives_there(path: Path) -> None:
    assert path.stem not in VAGUE_NAMES or path.parent == TORCHS_PATHS
    text = path.read_text()
    if text.strip():
        assert ast.get_docstring(ast.parse(text)), f"{path} has no docstring"


def test_public_names_exist() -> None:
    for name in photometer.__all__:
        assert getattr(photometer, name) is not None
    assert set(photometer.__all__) <= set(dir(photometer))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = photometer.nothing


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse((ROOT / "src" / "photometer" / "__init__.py").read_text())
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
    assert f"[{photometer.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_no_shell_and_no_pickle() -> None:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.keyword) and node.arg == "shell":
                raise AssertionError(f"{path}:{node.value.lineno} uses a shell")
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                allowed = {"pickle"} if path == READS_PICKLES else set()
                assert not names & {"pickle", "marshal", "shelve"} - allowed, f"{path}:{node.lineno} imports {names}"
