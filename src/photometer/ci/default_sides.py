"""The default sides of `photometer compare`: the working tree, and the commit where it left the main branch."""

from __future__ import annotations

from collections.abc import Mapping

from photometer.ci.project import ProjectSettings
from photometer.environments.interpreter import VERSION
from photometer.environments.spec import JOINT, MERGE_BASE, WORKTREE
from photometer.errors import DefinitionError, EnvironmentSpecError
from photometer.history.repository import Repository

# The branch that a pull request will be merged into, as GitHub and GitLab name it.
TARGET_VARIABLES = ("GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME")
USUAL_BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


def default_sides(project: ProjectSettings, variables: Mapping[str, str]) -> list[str]:
    """Return base and branch as a user would type them, with the project's interpreter on both."""
    repository = Repository.find()
    if repository is None:
        raise DefinitionError(
            "no sides are given, and this folder is not in a git repository", remedy="Name them: BASE BRANCH."
        )
    base = project.base or f"git:{MERGE_BASE}{default_branch(repository, variables)}"
    return [with_python(side, project.python) for side in (base, f"git:{WORKTREE}")]


def with_python(side: str, python: str | None) -> str:
    """Return a `git:` side with an interpreter, given by its path or its version; other sides stay as they are."""
    if python is None or not side.startswith("git:"):
        return side
    return f"{side}{JOINT}{f'python:{python}' if VERSION.fullmatch(python) else python}"


def default_branch(repository: Repository, variables: Mapping[str, str]) -> str:
    """Return the target branch: the pull request's; without one the remote's default, then main or master."""
    target = next((variables[name] for name in TARGET_VARIABLES if variables.get(name)), None)
    candidates = USUAL_BRANCHES if target is None else (f"origin/{target}", target)
    for branch in candidates:
        try:
            repository.resolve(branch)
        except EnvironmentSpecError:
            continue
        return branch
    raise DefinitionError(
        f"there is no branch {target} here" if target else "the main branch cannot be found",
        remedy="Fetch it (in GitHub's checkout: fetch-depth: 0), or set base in [tool.photometer] of pyproject.toml.",
    )
