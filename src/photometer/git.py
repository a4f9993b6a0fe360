"""run_git: the only code that runs git: no shell, a fixed environment, no questions to the user, no hooks, no locks.

In: a folder and the arguments. Out: git's output, as bytes or text. An error has the command, the exit status and
git's message.
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
    # No optional locks: looking at a repository must not write into it. No hooks: they are for the user's own commands.
    command = ["git", "--no-optional-locks", "-c", "core.hooksPath=/dev/null", "-C", str(folder), *arguments]
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
            failed or f"git found nothing for {arguments[-1]!r} in {folder}",
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
    remedy: str = REMEDY,
) -> str:
    """Return the same as text, without the end of the last line; names of files keep all of their bytes."""
    written = run_git(folder, *arguments, variables=variables, seconds=seconds, remedy=remedy)
    # -z output ends in NUL and keeps its spaces; lines lose their end.
    return written.decode("utf-8", errors).removesuffix("\n")
