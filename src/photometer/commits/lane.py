"""CommitLane: one commit of a repository after the other, ready to be measured, with as little starting as possible.

Commits whose code is imported from the checkout take turns in one folder, so that the servers, which have only imported
torch, serve them all: importing torch under Valgrind takes 15 s. Commits that are installed get an environment each.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from photometer.environments.resolved import resolve_environment
from photometer.environments.spec import EnvironmentSpec, GitSource, parse_environment
from photometer.environments.worktree import Checkout, Worktrees
from photometer.errors import EnvironmentSpecError
from photometer.model.environment import Environment
from photometer.session.layout import of_fixed_length
from photometer.session.session import Session

if TYPE_CHECKING:
    from photometer.remote.ray_workplace import OpenPlace

GIT_SECONDS = 600.0


class LastingSession(Session):
    """A session that outlives the runs it serves, those that fail too; `end` closes it, `end_at_once` kills it."""

    def close(self) -> None:
        """Do nothing: the servers are for the next commit, too."""

    def kill(self) -> None:
        """Do nothing: a commit that does not run is no reason to import torch again under Valgrind."""

    def end(self) -> None:
        super().close()

    def end_at_once(self) -> None:
        super().kill()
        super().close()


@dataclasses.dataclass(frozen=True)
class OnNode:
    """A commit that a node of a cluster is ready to measure."""

    open_place: OpenPlace


class CommitSource(Protocol):
    """Whatever makes commits ready to be measured, here (CommitLane) or on a node (remote/commits.py)."""

    def at(self, sha: str) -> Session | OnNode: ...


class CommitLane:
    """Use as a context manager. `at(sha)` is valid until the next call."""

    def __init__(self, repository: Path, *, install: str | None = None, python: str | None = None) -> None:
        self._repository = repository
        self._install = install
        self._interpreter = parse_environment(python or "current").interpreter
        self._worktrees = Worktrees()
        self._checkout: Checkout | None = None
        self._session: LastingSession | None = None

    def at(self, sha: str) -> Session:
        """Return a session that measures a commit. One that cannot be checked out or installed raises."""
        if self._install is not None:
            return self._installed(sha)
        self._move_to(sha)
        assert self._checkout is not None
        path = tuple(of_fixed_length(folder) for folder in self._checkout.import_paths)
        if self._session is None or self._session.environment.path != path:
            self._end_session()
            self._session = LastingSession(Environment(self._interpreter, path))
        return self._session

    def _installed(self, sha: str) -> Session:
        self._end_session()
        source = GitSource(sha, self._repository)
        spec = EnvironmentSpec(f"git:{sha}", python=self._interpreter, git=source)
        resolved = resolve_environment(spec, self._worktrees, install=self._install)
        self._session = LastingSession(resolved.environment)
        return self._session

    def _move_to(self, sha: str) -> None:
        """Put the files of a commit into the folder; nothing of the commit before stays, compiled modules neither."""
        if self._checkout is None:
            self._checkout = self._worktrees.check_out(GitSource(sha, self._repository))
            return
        folder = self._checkout.folder
        _git(folder, "checkout", "--quiet", "--force", "--detach", sha)
        _git(folder, "clean", "-ffdxq")
        self._checkout = Checkout(folder, sha)

    def _end_session(self) -> None:
        if self._session is not None:
            self._session.end()
            self._session = None

    def __enter__(self) -> CommitLane:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and self._session is not None:
            self._session.end_at_once()
            self._session = None
        self._end_session()
        self._worktrees.close()


def _git(folder: Path, *arguments: str) -> None:
    # No hooks: a post-checkout hook is the user's own business, in the user's own tree.
    command = ["git", "-c", "core.hooksPath=/dev/null", "-C", str(folder), *arguments]
    variables = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
            timeout=GIT_SECONDS, env=variables, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentSpecError(f"git could not be run: {error}", remedy="Install git.") from error
    if done.returncode != 0:
        raise EnvironmentSpecError(
            "the commit could not be checked out", exit_status=done.returncode, log=done.stderr,
            remedy="Check it out yourself to see why.",
        )  # fmt: skip
