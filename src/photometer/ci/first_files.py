"""What `photometer init` writes: a first suite, the section of pyproject.toml, a workflow. Nothing is overwritten.

In: a project's folder, which is only read. Out: PlannedFiles, to show, and to write if the user agrees.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from photometer.ci.default_sides import default_branch
from photometer.ci.found_code import FoundCode, find_code, find_packages
from photometer.ci.project import FILE_NAME, SECTION, read_project
from photometer.ci.workflow_text import COMMENT_WORKFLOW, GITHUB_WORKFLOW, GITLAB_JOB
from photometer.errors import DefinitionError, PhotometerError
from photometer.history.repository import Repository
from photometer.model.whole_file import not_written, write_whole

SUITE_PLACES = ("benchmarks/suite.py", "benchmarks/photometer_suite.py")
GITHUB_FILES = {
    ".github/workflows/benchmarks.yml": GITHUB_WORKFLOW,
    ".github/workflows/benchmarks-comment.yml": COMMENT_WORKFLOW,
}
GITLAB_FILE = ".gitlab/benchmarks.yml"
_INPUT = "torch.rand(64, 64)"


@dataclasses.dataclass(frozen=True)
class PlannedFile:
    """A new file, or (`appends`) lines for the end of an existing one. `path` is relative to the root."""

    path: str
    text: str
    appends: bool = False


@dataclasses.dataclass(frozen=True)
class FirstFiles:
    """`remarks` say what was left unchanged, and what the user should do."""

    root: Path
    files: tuple[PlannedFile, ...]
    remarks: tuple[str, ...] = ()


def plan_first_files(folder: Path, variables: Mapping[str, str]) -> FirstFiles:
    """Inspect the project that contains a folder, and return the files it lacks."""
    repository = Repository.find(folder)
    root = folder.resolve() if repository is None else repository.top
    files, remarks = [], []
    if repository is None:
        remarks.append("this is not a git repository: `photometer compare` needs one, or two named sides")
    project = read_project(root)
    suite = SUITE_PLACES[0]
    if project.suite is not None:
        remarks.append(f"[tool.{SECTION}] of {FILE_NAME} already names a suite, and is left unchanged")
    else:
        suite = next((place for place in SUITE_PLACES if not (root / place).exists()), "")
        if suite:
            files.append(PlannedFile(suite, _suite_text(root)))
        else:
            suite = SUITE_PLACES[0]
            remarks.append(f"{suite} already exists, and is left unchanged")
        section, remark = _section(root, suite, project.file is not None)
        files += section
        remarks += remark
    workflows, more = _workflows(root, repository, variables)
    return FirstFiles(root, (*files, *workflows), (*remarks, *more))


def write_first_files(planned: FirstFiles) -> None:
    """Write the files. A new file that somebody else has created meanwhile is an error."""
    for file in planned.files:
        path = planned.root / file.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            before = path.read_bytes() if file.appends and path.exists() else b""
            if before and not before.endswith(b"\n"):
                before += b"\n"
            write_whole(path, before + file.text.encode(), overwrite=file.appends)
        except FileExistsError as error:
            raise DefinitionError(f"{path} exists by now", remedy="Run `photometer init` again.") from error
        except OSError as error:
            raise not_written(path, error) from error


def _section(root: Path, suite: str, has_section: bool) -> tuple[list[PlannedFile], list[str]]:
    if has_section:
        return [], [f'add suite = "{suite}" to [tool.{SECTION}] of {FILE_NAME}']
    exists = (root / FILE_NAME).exists()
    text = f'''{chr(10) if exists else ""}[tool.{SECTION}]
suite = "{suite}"
# What makes `photometer compare` fail: slower, slower:5%, instructions:1%, memory:0, undecided.
fail-on = ["slower"]
'''
    return [PlannedFile(FILE_NAME, text, appends=exists)], []


def _workflows(
    root: Path, repository: Repository | None, variables: Mapping[str, str]
) -> tuple[list[PlannedFile], list[str]]:
    if (root / ".gitlab-ci.yml").exists() and not (root / ".github").exists():
        if (root / GITLAB_FILE).exists():
            return [], [f"{GITLAB_FILE} already exists, and is left unchanged"]
        include = f"include it in .gitlab-ci.yml:  include: [{{local: {GITLAB_FILE}}}]"
        return [PlannedFile(GITLAB_FILE, GITLAB_JOB)], [include]
    branch = _main_branch(repository, variables)
    files, remarks = [], []
    for path, text in GITHUB_FILES.items():
        if (root / path).exists():
            remarks.append(f"{path} already exists, and is left unchanged")
        else:
            files.append(PlannedFile(path, text.format(branch=branch) if text is GITHUB_WORKFLOW else text))
    return files, remarks


def _main_branch(repository: Repository | None, variables: Mapping[str, str]) -> str:
    if repository is None:
        return "main"
    try:
        name = default_branch(repository, variables)
    except PhotometerError:
        return repository.branch() or "main"
    return (repository.branch() or "main") if name == "origin/HEAD" else name.removeprefix("origin/")


def _suite_text(root: Path) -> str:
    packages = find_packages(root)
    found = find_code(packages)
    name = packages[0].name if packages else root.name
    callable_now = [code for code in found if code.tensors is not None]
    lines = [f'"""Benchmarks of {name}: `photometer run` measures them, `photometer compare` compares branches."""', ""]
    lines += ["from photometer import TimerArgs", ""]
    if any(code.tensors is None for code in found):
        lines.append("# Also found, but without known inputs: " + ", ".join(c.path for c in found if c.tensors is None))
    lines += [
        "# A benchmark is a statement and its set-up, which runs once before it. docs/suites.md has more ways.",
        "",
    ]
    lines.append("BENCHMARKS = {")
    by_module: dict[str, list[FoundCode]] = {}
    for code in callable_now:
        by_module.setdefault(code.module, []).append(code)
    for module, codes in by_module.items():
        lines.append(f'    "{module}": {{')
        lines += [f'        "{code.name}": {_timer_args(code)},' for code in codes]
        lines.append("    },")
    if not callable_now:
        lines.append(f'    "example": TimerArgs("x + x", setup="x = {_INPUT}"),')
    return "\n".join([*lines, "}", ""])


def _timer_args(code: FoundCode) -> str:
    names = code.tensors or ()
    inputs = "; ".join(f"{name} = {_INPUT}" for name in names)
    return f'TimerArgs("{code.path}({", ".join(names)})", setup="import {code.module}; {inputs}")'
