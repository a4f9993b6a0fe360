"""run_git: the only code that runs git: no shell, a fixed environment and settings, no questions, no hooks, no locks.

In: a folder and the arguments. Out: git's output, as bytes or text. An error has the command, the exit status and
git's message. Also the two questions that everything begins with: where is the repository, and which commit is meant?
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from photometer.errors import EnvironmentSpecError

# Checking out or packing a large repository takes minutes.
GIT_SECONDS = 600.0
REMEDY = "Name a revision of a git repository: git:REV, or git:REV@PATH for one elsewhere."
# Set in git's own hooks: they would lead every command to the repository of the hook, not to that of the folder.
_OF_ANOTHER_REPOSITORY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX")
_FIXED = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
# The user's own settings must not change what git prints here, nor run a program: that of hooks, or one that checks
# signatures before each commit is shown, or one that watches the files.
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "log.showSignature=false",
    "i18n.logOutputEncoding=UTF-8",
    "color.ui=false",
)


def run_git(
    folder: Path,
    *arguments: str,
    given: bytes = b"",
    variables: Mapping[str, str] | None = None,
    seconds: float = GIT_SECONDS,
    failed: str | None = None,
    remedy: str = REMEDY,
) -> bytes:
    """Return the output of git in a folder; `failed` says what could not be done if it ends with an error."""
    # No optional locks: looking at a repository must not write into it.
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    command = ["git", "--no-optional-locks", *settings, "-C", str(folder), *arguments]
    inherited = {name: value for name, value in os.environ.items() if name not in _OF_ANOTHER_REPOSITORY}
    try:
        done = subprocess.run(
            command,
            input=given,
            capture_output=True,
            timeout=seconds,
            env={**inherited, **_FIXED, **(variables or {})},
            check=False,
        )
    except FileNotFoundError as error:
        raise EnvironmentSpecError("git is not installed", command=command, remedy="Install git.") from error
    except subprocess.TimeoutExpired as error:
        raise EnvironmentSpecError(
            f"git did not finish within {seconds:g} s", command=command, remedy="Run the command yourself to see why."
        ) from error
    except OSError as error:
        raise EnvironmentSpecError(
            f"git could not be run: {error}", command=command, remedy="Run the command yourself to see why."
        ) from error
    if done.returncode != 0:
        raise EnvironmentSpecError(
            failed or f"git {arguments[0]} failed in {folder}",
            command=command,
            exit_status=done.returncode,
            log=done.stderr.decode(errors="replace"),
            remedy=remedy,
        )
    return done.stdout


def git_text(
    folder: Path,
    *arguments: str,
    variables: Mapping[str, str] | None = None,
    seconds: float = GIT_SECONDS,
    errors: str = "surrogateescape",
    failed: str | None = None,
    remedy: str = REMEDY,
) -> str:
    """Return the same as text, without the end of the last line; names of files keep all of their bytes."""
    written = run_git(folder, *arguments, variables=variables, seconds=seconds, failed=failed, remedy=remedy)
    # -z output ends in NUL and keeps its spaces; lines lose their end.
    return written.decode("utf-8", errors).removesuffix("\n")


def top_of_repository(folder: Path) -> Path:
    """Return the top folder of the repository that a folder lies in; of a bare one, the repository itself."""
    failed = f"{folder} is not in a git repository"
    if git_text(folder, "rev-parse", "--is-bare-repository", failed=failed) == "true":
        return Path(git_text(folder, "rev-parse", "--absolute-git-dir", failed=failed))
    return Path(git_text(folder, "rev-parse", "--show-toplevel", failed=failed))


def find_commit(repository: Path, revision: str) -> str:
    """Return the full name of the commit that a revision names."""
    try:
        return git_text(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}")
    except EnvironmentSpecError as error:
        raise EnvironmentSpecError(
            f"there is no commit {revision!r} in {repository}",
            # With --quiet, git prints nothing if that is all: its command line would only be in the way.
            command=error.command if error.log else None,
            exit_status=error.exit_status if error.log else None,
            log=error.log,
            remedy=_why_missing(repository),
        ) from error


def _why_missing(repository: Path) -> str:
    if not git_text(repository, "rev-list", "--all", "--max-count=1"):
        return "The repository has no commits yet: commit something first."
    if git_text(repository, "rev-parse", "--is-shallow-repository") == "true":
        return (
            "The clone is shallow: get the rest with `git fetch --unshallow`; in GitHub's checkout, `fetch-depth: 0`."
        )
    return REMEDY
