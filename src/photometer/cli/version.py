"""What `photometer --version` prints: the version, and the commit if this is a checkout or was installed from one."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import photometer
from photometer.errors import EnvironmentSpecError
from photometer.git import git_text
from photometer.instruments.machine_facts import git_commit

# As git shortens them in most places.
LETTERS = 10


def version_text() -> str:
    """Return `1.0.0 (commit 35bda2a000)`, without the commit if it is not known."""
    commit = commit_of(Path(photometer.__file__).parent) or _installed_from()
    return f"{photometer.__version__} (commit {commit})" if commit else photometer.__version__


def commit_of(folder: Path) -> str:
    """Return the commit of a package in a checkout; empty if git does not have its files, as in a project's .venv."""
    try:
        if not git_text(folder, "ls-files", "__init__.py"):
            return ""
    except EnvironmentSpecError:
        return ""
    commit, is_changed, _ = git_commit(folder)
    return "" if commit is None else commit[:LETTERS] + (" with changes" if is_changed else "")


def _installed_from() -> str:
    """Return the commit that pip installed, if it was given a repository."""
    try:
        text = distribution("photometer").read_text("direct_url.json")
        found = json.loads(text) if text else {}
    except (PackageNotFoundError, ValueError):
        return ""
    commit = found.get("vcs_info", {}).get("commit_id", "")
    return commit[:LETTERS] if isinstance(commit, str) else ""
