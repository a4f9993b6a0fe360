"""EnvironmentSpec: what a user types for one side of a comparison, taken apart. Nothing is started or checked out here.

    current                    this interpreter
    PYTHON or VENV             another interpreter, or the folder of a virtual environment
    git:REV                    a revision of the repository here; git:REV@PATH of the one there
    git:merge-base:BRANCH      where this branch left BRANCH;  git:WORKTREE  the working tree as it is
    pip:torch==2.12.1          an environment with these packages, made if need be and kept; also pip:-r FILE
    pip:einops==0.6.0          packages without a torch are laid over the interpreter that the rest names
    python:3.12                an interpreter of that version; with pip:… the one that the packages are for
    env:NAME=VALUE  path:DIR   this interpreter with a variable, with a folder first on its path
    FILE.json                  a results file of an earlier run
Several are joined by " + ": `venv + env:OMP_NUM_THREADS=2`.
"""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from photometer.environments.interpreter import VERSION
from photometer.environments.packages import PackageRequest, parse_packages
from photometer.errors import EnvironmentSpecError
from photometer.session.policy import RESERVED

JOINT = " + "
WORKTREE = "WORKTREE"
MERGE_BASE = "merge-base:"
_FORMS = (
    "Give `current`, a Python interpreter or the folder of a virtual environment, git:REV, git:merge-base:BRANCH, "
    "git:WORKTREE, pip:PACKAGES, python:VERSION, env:NAME=VALUE, path:DIR, or a results file (.json)."
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclasses.dataclass(frozen=True)
class GitSource:
    """A revision (or WORKTREE, or merge-base:BRANCH) of the repository that `repository` lies in."""

    revision: str
    repository: Path


@dataclasses.dataclass(frozen=True)
class EnvironmentSpec:
    """One side as requested. Either `results` is given or the rest; `python` None is this interpreter."""

    text: str
    python: str | None = None
    git: GitSource | None = None
    variables: tuple[tuple[str, str], ...] = ()
    path: tuple[str, ...] = ()
    results: Path | None = None
    # With a torch among them: a whole environment is made.
    packages: PackageRequest | None = None
    # Without: they are laid over the interpreter, or over that environment.
    overlay: PackageRequest | None = None
    python_version: str | None = None

    @property
    def interpreter(self) -> str:
        return sys.executable if self.python is None else self.python


def parse_environment(text: str, folder: Path | None = None) -> EnvironmentSpec:
    """Return the spec of a text.

    Relative paths and the repository are looked for in `folder` (default: here).
    """
    folder = Path.cwd() if folder is None else folder
    parts = [part.strip() for part in text.split(JOINT)]
    if not all(parts):
        raise EnvironmentSpecError(f"{text!r} has an empty part", remedy=_FORMS)
    spec = EnvironmentSpec(text.strip())
    for part in parts:
        spec = _with_part(spec, part, folder)
    if spec.results is not None and len(parts) > 1:
        raise EnvironmentSpecError(
            f"{text!r}: a results file cannot be joined with anything", remedy="What was measured is in it already."
        )
    return spec


def _with_part(spec: EnvironmentSpec, part: str, folder: Path) -> EnvironmentSpec:
    kind, colon, rest = part.partition(":")
    if part == "current":
        return spec
    if colon and kind in _KINDS:
        return _KINDS[kind](spec, rest, part, folder)
    if part.endswith(".json"):
        found = folder / Path(part).expanduser()
        if not found.is_file():
            raise EnvironmentSpecError(f"there is no results file {part}", remedy="Check its path.")
        return dataclasses.replace(spec, results=found)
    _no_other_interpreter(spec)
    return dataclasses.replace(spec, python=_interpreter(part, folder))


def _with_git(spec: EnvironmentSpec, rest: str, part: str, folder: Path) -> EnvironmentSpec:
    if spec.git is not None:
        raise EnvironmentSpecError(f"{spec.text!r} names two git revisions", remedy="Name one per side.")
    return dataclasses.replace(spec, git=_git_source(rest, part, folder))


def _with_variable(spec: EnvironmentSpec, rest: str, part: str, folder: Path) -> EnvironmentSpec:
    return dataclasses.replace(spec, variables=(*spec.variables, _variable(rest, part)))


def _with_path(spec: EnvironmentSpec, rest: str, part: str, folder: Path) -> EnvironmentSpec:
    found = (folder / Path(rest).expanduser()).resolve()
    if not rest or not found.is_dir():
        raise EnvironmentSpecError(f"{part}: there is no folder {rest!r}", remedy="Use an existing folder in path:DIR.")
    return dataclasses.replace(spec, path=(*spec.path, str(found)))


def _with_packages(spec: EnvironmentSpec, rest: str, part: str, folder: Path) -> EnvironmentSpec:
    wanted = parse_packages(rest, part, folder)
    if wanted.names_torch:
        return dataclasses.replace(spec, packages=wanted if spec.packages is None else spec.packages + wanted)
    return dataclasses.replace(spec, overlay=wanted if spec.overlay is None else spec.overlay + wanted)


def _with_version(spec: EnvironmentSpec, rest: str, part: str, folder: Path) -> EnvironmentSpec:
    if not VERSION.fullmatch(rest):
        raise EnvironmentSpecError(f"{part!r} names no version", remedy="Write python:3.12, python:3.12.1, …")
    _no_other_interpreter(spec)
    return dataclasses.replace(spec, python_version=rest)


# What may stand before a colon, and what it adds.
_KINDS: dict[str, Callable[[EnvironmentSpec, str, str, Path], EnvironmentSpec]] = {
    "git": _with_git,
    "env": _with_variable,
    "path": _with_path,
    "pip": _with_packages,
    "python": _with_version,
}


def _no_other_interpreter(spec: EnvironmentSpec) -> None:
    if spec.python is not None or spec.python_version is not None:
        raise EnvironmentSpecError(f"{spec.text!r} names two interpreters", remedy="Name one per side.")


def _git_source(rest: str, part: str, folder: Path) -> GitSource:
    revision, at, place = rest.partition("@")
    if at and place.startswith("{"):
        # `main@{1}` and `@{upstream}` are git's own spelling, not ours.
        revision, at, place = _after_braces(rest)
    repository = (folder / Path(place).expanduser()).resolve() if at else folder
    if not revision.removeprefix(MERGE_BASE):
        raise EnvironmentSpecError(f"{part!r} names no revision", remedy="Write git:HEAD~1, git:main, git:v1.2, …")
    if revision.startswith("-"):
        raise EnvironmentSpecError(f"{part!r}: a revision does not begin with a dash", remedy="Check its name.")
    if not repository.is_dir():
        raise EnvironmentSpecError(
            f"{part!r}: there is no folder {place!r}", remedy="Name a repository in git:REV@PATH."
        )
    return GitSource(revision, repository)


def _after_braces(rest: str) -> tuple[str, str, str]:
    closed = rest.rfind("}") + 1
    revision, at, place = rest[closed:].partition("@")
    return rest[:closed] + revision, at, place


def _variable(rest: str, part: str) -> tuple[str, str]:
    name, equals, value = rest.partition("=")
    if not equals or not _VARIABLE.fullmatch(name):
        raise EnvironmentSpecError(f"{part!r} sets no variable", remedy="Write env:NAME=VALUE.")
    if name in RESERVED:
        raise EnvironmentSpecError(f"{name} cannot be set", remedy="Leave it out: photometer sets it for all sides.")
    return name, value


def _interpreter(part: str, folder: Path) -> str:
    """Return an executable, the python of a virtual environment's folder, or a name on PATH; links are not resolved."""
    given = folder / Path(part).expanduser()
    if given.is_dir():
        for inside in (given / "bin" / "python", given / "Scripts" / "python.exe"):
            if inside.exists():
                return os.path.abspath(inside)  # noqa: PTH100  a venv's python is a link: resolving it leaves the venv
        raise EnvironmentSpecError(f"{part} is a folder without bin/python", remedy=_FORMS)
    if given.is_file():
        if not os.access(given, os.X_OK):
            raise EnvironmentSpecError(f"{part} cannot be executed", remedy=_FORMS)
        return os.path.abspath(given)  # noqa: PTH100
    known = shutil.which(part) if os.sep not in part else None
    if known is None:
        raise EnvironmentSpecError(f"{part!r} names no environment", remedy=_FORMS)
    return known
