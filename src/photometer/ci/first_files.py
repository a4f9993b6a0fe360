"""What `photometer init` writes: a first suite, the section of pyproject.toml, CI files. Nothing is overwritten.

In: a project's folder, which is only read, and none of whose code runs: functions of tensors and modules are found in
its text. Out: PlannedFiles, to show, and to write if the user agrees. docs/ci.md shows the same CI files.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from photometer.ci.default_sides import default_branch
from photometer.ci.project import FILE_NAME, SECTION, read_project
from photometer.errors import DefinitionError, PhotometerError
from photometer.history.repository import Repository
from photometer.model.whole_file import not_written, write_whole

# `{branch}` is the main branch, quoted. Counts of the base are cached: a run on the main branch produces them.
GITHUB_WORKFLOW = """\
# Compares a pull request with its base: is it slower, by how much, and why?
name: benchmarks

on:
  pull_request:
  push:
    branches: [{branch}]  # counts the instructions of the new base, for the pull requests after it

permissions:
  contents: read
  pull-requests: write

concurrency:
  group: ${{{{ github.workflow }}}}-${{{{ github.ref }}}}
  cancel-in-progress: true

jobs:
  compare:
    runs-on: ubuntu-latest
    timeout-minutes: 60
    steps:
      - uses: actions/checkout@v4
        with:
          fetch-depth: 0  # the base is a commit of the past
          persist-credentials: false
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
          cache: pip
          cache-dependency-path: pyproject.toml
      - uses: actions/cache@v4
        with:
          path: ~/.cache/photometer
          key: photometer-${{{{ runner.os }}}}-${{{{ github.run_id }}}}
          restore-keys: photometer-${{{{ runner.os }}}}-
      - run: sudo apt-get update && sudo apt-get install --yes valgrind
      - run: python -m pip install torch "photometer[flame]" .  # not released yet: "photometer[flame] @ git+URL"
      - run: photometer compare --format github -o photometer-comparison
      - uses: actions/upload-artifact@v4
        if: always()
        id: artifact
        with:
          name: photometer
          path: photometer-comparison
          if-no-files-found: ignore
      # A fork's run has no right to comment; the workflow benchmarks-comment does it.
      - if: >-
          always() && hashFiles('photometer-comparison/review.json') != '' &&
          github.event.pull_request.head.repo.full_name == github.repository
        run: photometer comment photometer-comparison --link "$ARTIFACT"
        env:
          ARTIFACT: ${{{{ steps.artifact.outputs.artifact-url }}}}
          GITHUB_TOKEN: ${{{{ github.token }}}}
"""

COMMENT_WORKFLOW = """\
# Posts the comment on pull requests from forks. It has a token, so it runs none of the fork's code: it reads a file.
name: benchmarks-comment

on:
  workflow_run:
    workflows: [benchmarks]
    types: [completed]

permissions:
  actions: read
  pull-requests: write

jobs:
  comment:
    if: >-
      github.event.workflow_run.event == 'pull_request' &&
      github.event.workflow_run.head_repository.full_name != github.repository
    runs-on: ubuntu-latest
    timeout-minutes: 10
    steps:
      - uses: actions/download-artifact@v4
        with:
          name: photometer
          path: photometer-comparison
          run-id: ${{ github.event.workflow_run.id }}
          github-token: ${{ github.token }}
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: python -m pip install photometer  # not released yet: "photometer @ git+URL"
      - run: photometer comment photometer-comparison
        env:
          GITHUB_TOKEN: ${{ github.token }}
"""

GITLAB_JOB = """\
# Compares a merge request with its target: is it slower, by how much, and why?
benchmarks:
  image: python:3.12
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH  # counts the instructions of the new base
  variables:
    GIT_DEPTH: 0  # the base is a commit of the past
    PHOTOMETER_CACHE: $CI_PROJECT_DIR/.photometer-cache
  cache:
    key: photometer
    paths: [.photometer-cache]
  script:
    - apt-get update && apt-get install --yes valgrind
    - python -m pip install torch "photometer[flame]" .  # not released yet: "photometer[flame] @ git+URL"
    - photometer compare -o photometer-comparison --junit junit.xml --gitlab-metrics metrics.txt
  artifacts:
    when: always
    paths: [photometer-comparison]
    reports:
      junit: junit.xml
      metrics: metrics.txt
"""

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
    """Write the files. Raise an error for a new file that exists by then."""
    for file in planned.files:
        path = planned.root / file.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            before = path.read_bytes() if file.appends and path.exists() else b""
            if before and not before.endswith(b"\n"):
                before += b"\n"
            write_whole(path, before + file.text.encode(), overwrite=file.appends)
        except FileExistsError as error:
            raise DefinitionError(f"{path} already exists", remedy="Run `photometer init` again.") from error
        except OSError as error:
            raise not_written(path, error) from error


def _section(root: Path, suite: str, has_section: bool) -> tuple[list[PlannedFile], list[str]]:
    if has_section:
        return [], [f'add suite = "{suite}" to [tool.{SECTION}] of {FILE_NAME}']
    exists = (root / FILE_NAME).exists()
    text = f'''{chr(10) if exists else ""}[tool.{SECTION}]
suite = "{suite}"
# What makes `photometer compare` fail: slower, slower:5%, probable, undecided, instructions:1%, memory:0.
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
    branch = _as_pattern(_main_branch(repository, variables))
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


def _as_pattern(branch: str) -> str:
    """Return a YAML string that is GitHub's pattern for this branch alone: git allows quotes, commas, + and !."""
    return json.dumps(re.sub(r"[!+]", r"\\\g<0>", branch))


def _suite_text(root: Path) -> str:
    packages = find_packages(root)
    found = find_code(packages)
    # A folder may have any name, and this text becomes code.
    name = packages[0].name if packages else root.name if _HARMLESS.fullmatch(root.name) else "this project"
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
    # Not `import {module}`: a package often exports a function under the name of its module, and that hides the module.
    called, renamed = (f"call_{code.name}", f" as call_{code.name}") if code.name in names else (code.name, "")
    imported = f"from {code.module} import {code.name}{renamed}"
    return f'TimerArgs("{called}({", ".join(names)})", setup="{imported}; {inputs}")'


# A first suite should be short enough to read; its author adds the rest by example.
MOST_FOUND = 12
MOST_FILES = 500
# Where packages are in a repository.
_ROOTS = ("src", "")
_HARMLESS = re.compile(r"[\w .-]+")
_NOT_PACKAGES = {"tests", "test", "docs", "doc", "benchmarks", "examples", "scripts", "build", "dist", "tools"}


@dataclasses.dataclass(frozen=True)
class FoundCode:
    """A public function or class. `tensors` are its required arguments if all are tensors, otherwise None."""

    module: str
    name: str
    kind: str
    tensors: tuple[str, ...] | None

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"


def find_packages(folder: Path) -> tuple[Path, ...]:
    """Return the package folders of a project: those in src/, or those beside it if there are none."""
    for root in _ROOTS:
        place = folder / root
        folders = (file.parent for file in place.glob("*/__init__.py"))
        found = sorted(each for each in folders if each.name.isidentifier() and each.name not in _NOT_PACKAGES)
        if found:
            return tuple(found)
    return ()


def find_code(packages: tuple[Path, ...]) -> tuple[FoundCode, ...]:
    """Return what could be measured, functions that can be called with tensors first."""
    found = [
        code
        for package in packages
        for file in sorted(package.rglob("*.py"))[:MOST_FILES]
        for code in _in_file(file, package.parent)
    ]
    found.sort(key=lambda code: code.tensors is None)
    return tuple(found[:MOST_FOUND])


def _in_file(file: Path, root: Path) -> Iterator[FoundCode]:
    parts = file.relative_to(root).with_suffix("").parts
    if not all(part.isidentifier() for part in parts):
        # It cannot be imported, and its name must not become code.
        return
    if any(part.startswith("_") and part != "__init__" for part in parts) or set(parts) & _NOT_PACKAGES:
        return
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError, RecursionError):
        return
    module = ".".join(part for part in parts if part != "__init__")
    imports_torch = any(
        "torch" in ast.dump(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)
    )
    if not imports_torch:
        return
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield FoundCode(module, node.name, "function", _tensors(node.args))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and _is_module(node):
            yield FoundCode(module, node.name, "module", None)


def _is_module(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).split(".")[-1] == "Module" for base in node.bases)


def _tensors(arguments: ast.arguments) -> tuple[str, ...] | None:
    """Return the names of the required arguments, if all are annotated as tensors."""
    positional = [*arguments.posonlyargs, *arguments.args]
    needed = positional[: len(positional) - len(arguments.defaults)]
    needed += [each for each, given in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if given is None]
    if not needed or arguments.kwonlyargs:
        return None
    for each in needed:
        annotation = "" if each.annotation is None else ast.unparse(each.annotation).strip("'\"")
        if annotation.split(".")[-1] != "Tensor":
            return None
    return tuple(each.arg for each in needed)
