"""The page that `photometer` without arguments shows: its purpose, what this project has, and what to type next."""

from __future__ import annotations

import os
import time
from pathlib import Path

from photometer.ci.project import ProjectSettings, read_project
from photometer.errors import PhotometerError
from photometer.model.results_folder import RESULT_FILES, RESULTS_FOLDER
from photometer.model.visible_text import visible_line

TITLE = (
    "photometer measures PyTorch code: how fast, which is faster, did my branch make it slower, by how much, and why."
)
_UNITS = ((86_400.0, "day"), (3_600.0, "hour"), (60.0, "minute"))
Line = tuple[str, str]


def first_page(folder: Path) -> str:
    """Return the page for a folder, without importing or running anything."""
    try:
        project, problem = read_project(folder), ""
    except PhotometerError as error:
        project, problem = ProjectSettings(), str(error)
    results = last_results(folder if project.file is None else project.file.parent)
    facts = _facts(project, results)
    parts = [TITLE]
    if problem:
        parts.append(problem)
    elif facts:
        parts.append("This project has:\n" + _aligned(facts))
    parts.append("Next:\n" + _aligned(_next_commands(project, results)))
    parts.append("`photometer --help` lists all commands, `photometer COMMAND --help` explains one.")
    return "\n\n".join(parts)


def last_results(folder: Path) -> Path | None:
    """Return the newest results file in the folder's own results; None if there is none."""
    found = [path for name in RESULT_FILES for path in (folder / RESULTS_FOLDER).glob(f"*/{name}")]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def _facts(project: ProjectSettings, results: Path | None) -> list[Line]:
    facts = [("settings", _shown(project.file))] if project.file is not None else []
    facts += [
        (name, _shown(value))
        for name, value in (("suite", project.suite), ("base", project.base), ("store", project.store))
        if value is not None
    ]
    if results is not None:
        facts.append(("results", f"{_shown(results)}, written {_ago(time.time() - results.stat().st_mtime)}"))
    return facts


def _next_commands(project: ProjectSettings, results: Path | None) -> list[Line]:
    if project.suite is None:
        commands = [
            ('photometer time "x * 2" -s "x = torch.ones(8)"', "Time a statement."),
            ('photometer ab "x * 2" "x + x" -s "x = torch.ones(8)"', "Compare two statements."),
            ("photometer init", "Write a first suite, settings and a CI workflow."),
        ]
    else:
        commands = [
            ("photometer run", "Measure the suite."),
            ("photometer compare", "Compare the working tree with the base."),
            ("photometer list", "List the benchmarks."),
        ]
    if results is not None:
        commands.append((f"photometer show {_shown(results.parent)}", "Print the last results again."))
    return commands


def _shown(value: Path | str) -> str:
    """Return a value of the settings or a path, from here on if it is below this folder."""
    return str(value).removeprefix(f"{Path.cwd()}{os.sep}")


def _ago(seconds: float) -> str:
    for size, name in _UNITS:
        count = int(seconds // size)
        if count >= 1:
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"


def _aligned(lines: list[Line]) -> str:
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"  {visible_line(name):{width}}  {visible_line(text)}" for name, text in lines)
