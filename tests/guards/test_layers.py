"""Imports point down the list of design: a test reads them and holds the order."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "photometer"

# The interactive doors and the pipeline.
DOORS = (
    "pipeline",
    "ci",
    "timing",
    "tables",
    "statement_arguments",
    "comparing",
    "commits",
    "dispatch_ladder",
    "flames",
    "fuzz_maps",
    "pull_request",
    "remote",
    "results",
    "magics",
    "torch_pickle",
    "utils",
    "as_torch",
)
# From the top down. A part may import from its own layer's own part and from every layer below; parts that share a
# layer never import each other, except where the layer is marked so.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("cli", "__main__", "pytest_plugin"),
    DOORS,
    # Its site is made with report/; `run`, `compare` and `ab` write to it.
    ("history",),
    ("report", "suites", "op_fuzzers"),
    ("execution", "analysis"),
    ("environments", "doctor"),
    ("instruments",),
    ("session",),
    ("plan",),
    ("definition", "fuzzing", "worker"),
    ("model",),
    ("stats",),
    ("errors",),
)
# The interactive doors and the pipeline are one layer in the design, and may use each other.
MAY_USE_EACH_OTHER = {DOORS, LAYERS[0]}
# Imports against the order, each inside one method: (the part that imports, the module that it imports).
# A notebook asks the record itself for its HTML (`_repr_html_`), and all HTML is written in report/.
UPWARD_IMPORTS = {
    ("model", "report.notebook"),
    ("model", "report.plots"),
    ("analysis", "report.plots"),
    ("analysis", "report.notebook"),
    # print(ranking) is the table that the command prints.
    ("analysis", "report.ranking_text"),
    # Printing a record shows what the command shows.
    ("model", "report.device_text"),
    ("analysis", "report.verdict_text"),
    # Old results files name the ready-made fuzzers by the place they had.
    ("fuzzing", "op_fuzzers"),
}
WITHOUT_TORCH = ("stats", "definition", "analysis", "report", "plan", "errors.py")

FILES = sorted(SOURCE.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_modules(tree: ast.Module, path: Path) -> set[tuple[str, int]]:
    """The modules of photometer that a file imports, anywhere in it, with the line: `report.notebook`."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                base = ".".join(["photometer", *path.relative_to(SOURCE).parts[: -node.level]])
                names = [f"{base}.{node.module}" if node.module else base]
            elif node.module == "photometer":
                names = [f"photometer.{alias.name}" for alias in node.names]
            else:
                names = [node.module or ""]
        else:
            continue
        for name in names:
            words = name.split(".")
            if words[0] == "photometer" and len(words) > 1 and not words[1].startswith("__"):
                found.add((".".join(words[1:]), node.lineno))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    if path == SOURCE / "__init__.py":
        return
    height = {part: i for i, layer in enumerate(LAYERS) for part in layer}
    own = part_of(path)
    assert own in height, f"{own} has no place in the layers"
    for module, line in imported_modules(ast.parse(path.read_text()), path):
        part = module.split(".")[0]
        if part not in height or part == own or (own, module) in UPWARD_IMPORTS:
            continue
        together = height[part] == height[own] and LAYERS[height[own]] in MAY_USE_EACH_OTHER
        assert height[part] > height[own] or together, f"{path}:{line}: {own} must not import {part}"


@pytest.mark.parametrize("part", WITHOUT_TORCH)
def test_some_parts_never_import_torch(part: str) -> None:
    home = SOURCE / part
    for path in [home] if home.suffix else home.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            assert not any(name.split(".")[0] == "torch" for name in names), f"{path}:{node.lineno} imports torch"


def test_worker_needs_only_the_standard_library_and_torch() -> None:
    allowed = sys.stdlib_module_names | {"torch", "__future__"}
    for path in (SOURCE / "worker").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            else:
                continue
            for name in names:
                assert name.split(".")[0] in allowed, f"{path}:{node.lineno} imports {name}"


@pytest.mark.parametrize("command", [["--help"], ["show", "--help"], ["time", "--help"]])
def test_help_imports_neither_torch_nor_numpy(command: list[str]) -> None:
    code = (
        "import sys\nfrom photometer.cli import main\n"
        f"try:\n    main({command!r})\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "heavy = {'torch', 'numpy', 'scipy', 'plotly', 'jinja2', 'msgspec'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout
