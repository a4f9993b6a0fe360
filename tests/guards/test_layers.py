"""Imports point down the list of design: a test reads them and holds the order."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.guards.sources import PACKAGE, SOURCES, imports, none_of, place

# The interactive doors and the pipeline.
DOORS = (
    "pipeline",
    "ci",
    "timing",
    "tables",
    "statement_arguments",
    "comparing",
    "commits",
    "flames",
    "fuzz_maps",
    "pull_request",
    "results",
    "magics",
    "torch_pickle",
    "testing",
    # Doors to the parts below them, by subject.
    "callgrind",
    "cpp",
    "device",
    "fuzzers",
    "utils",
    "as_torch",
)
# From the top down. A part may import from its own layer's own part and from every layer below; parts that share a
# layer never import each other, except where the layer is marked so.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("cli", "__main__", "pytest_plugin"),
    # The doors know a cluster only as a ClusterPlace or as CommitNodes, which the command gives them.
    ("remote",),
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
    # In the process that is measured, too: these import nothing of photometer.
    ("stand_ins",),
    ("model",),
    ("stats", "git", "programs"),
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
    ("analysis", "report.comparison_text"),
    # Old results files name the ready-made fuzzers by the place they had.
    ("fuzzing", "op_fuzzers"),
}
WITHOUT_TORCH = ("stats", "definition", "analysis", "report", "plan", "errors")

HEIGHT = {part: i for i, layer in enumerate(LAYERS) for part in layer}


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def upward_imports(path: Path) -> Iterator[str]:
    own = part_of(path)
    for name, line in imports(path):
        first, _, module = name.partition(".")
        part = module.split(".")[0]
        if first != "photometer" or part not in HEIGHT or part == own or (own, module) in UPWARD_IMPORTS:
            continue
        together = HEIGHT[part] == HEIGHT[own] and LAYERS[HEIGHT[own]] in MAY_USE_EACH_OTHER
        if HEIGHT[part] <= HEIGHT[own] and not together:
            yield f"{place(path, line)}: {own} must not import {part}"


def test_every_part_has_a_place_in_the_layers_and_every_place_a_part() -> None:
    assert {part_of(path) for path in SOURCES} - {"__init__"} == set(HEIGHT)


def test_imports_point_down() -> None:
    none_of(offender for path in SOURCES if path != PACKAGE / "__init__.py" for offender in upward_imports(path))


def test_exceptions_to_the_order_are_needed() -> None:
    used = {(part_of(path), name.partition(".")[2]) for path in SOURCES for name, _ in imports(path)}
    none_of(f"{part} no longer imports {module}" for part, module in UPWARD_IMPORTS - used)


def test_some_parts_never_import_torch() -> None:
    none_of(
        place(path, line)
        for path in SOURCES
        if part_of(path) in WITHOUT_TORCH
        for name, line in imports(path)
        if name.split(".")[0] == "torch"
    )


@pytest.mark.parametrize("part", ["worker", "stand_ins"])
def test_what_runs_in_the_worker_needs_only_the_standard_library_and_torch(part: str) -> None:
    allowed = sys.stdlib_module_names | {"torch", "__future__"}
    none_of(
        f"{place(path, line)} imports {name}"
        for path in SOURCES
        if part_of(path) == part
        for name, line in imports(path)
        if name.split(".")[0] not in allowed and not name.startswith(f"photometer.{part}")
    )


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
