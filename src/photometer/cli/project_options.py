"""What commands take from `[tool.photometer]` if an option is not given."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from photometer.ci.project import ProjectSettings


@dataclasses.dataclass(frozen=True)
class ChosenSuites:
    """Suites, and the tags that choose among their benchmarks."""

    names: list[str]
    tags: list[str]


def chosen_suites(suites: Sequence[str] | None, tags: Sequence[str] | None) -> ChosenSuites:
    """Return the suites that are named; if none are, the project's own, with the project's tags."""
    if suites:
        return ChosenSuites(list(suites), list(tags or ()))
    from photometer.ci.project import read_project

    project = read_project()
    if project.suite is None:
        raise typer.BadParameter("name a SUITE, or set suite in [tool.photometer] of pyproject.toml")
    return ChosenSuites([project.suite], list(tags or project.tags))


def store_of(given: str | None, project: ProjectSettings | None = None) -> str | None:
    """Return the store that is named, else that of PHOTOMETER_STORE (None: history finds it), else the project's."""
    if given is not None or os.environ.get("PHOTOMETER_STORE"):
        return given
    from photometer.ci.project import read_project

    return (project or read_project()).store
