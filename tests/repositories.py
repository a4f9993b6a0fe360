"""Small git repositories to test with: an identity of their own, and nothing of the user's settings that matters."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

SETTINGS = (
    *("-c", "user.name=Ada"),
    *("-c", "user.email=ada@example.org"),
    *("-c", "init.defaultBranch=main"),
    *("-c", "commit.gpgsign=false"),
)


def git(folder: Path, *arguments: str, at_second: int | None = None) -> str:
    """Run git in a folder and return what it prints; commits are dated `at_second` if it is given."""
    date = {} if at_second is None else {f"GIT_{who}_DATE": f"{at_second} +0000" for who in ("AUTHOR", "COMMITTER")}
    command = ["git", *SETTINGS, *arguments]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **date}, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit_files(folder: Path, files: Mapping[str, str], message: str = "work") -> str:
    """Write the files, commit all that has changed, and return the commit."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)
    return git(folder, "rev-parse", "HEAD")


def make_repository(folder: Path, *versions: Mapping[str, str]) -> Path:
    """Make a repository with one commit per version, each of which is the files that change."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    for version in versions:
        commit_files(folder, version)
    return folder
