"""CommitLane: prepare one commit of a repository after the other for measuring, starting as little as possible.

Commits whose code is imported from the checkout take turns in one folder, so that the servers, which have only imported
torch, serve them all: importing torch under Valgrind takes 15 s. A commit that must be installed gets an environment.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from photometer.environments.resolved import resolve_environment
from photometer.environments.spec import EnvironmentSpec, GitSource, parse_environment
from photometer.environments.worktree import Checkout, Worktrees, empty_submodules, fill_submodules, top_of
from photometer.errors import PhotometerError
from photometer.git import run_git
from photometer.model.machine import Environment, Machine
from photometer.session.layout import of_fixed_length
from photometer.session.session import Session

if TYPE_CHECKING:
    from photometer.analysis.comparison_result import EnvironmentComparison
    from photometer.comparing.request import ComparisonRequest
    from photometer.pipeline import OpenPlace

REMEDY = "Check it out yourself to see why."


class LastingSession(Session):
    """A session that outlives the runs that use it, even failed ones; `end` closes it, `end_at_once` kills it."""

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
    """Makes commits ready to be measured, here (CommitLane) or on a node (remote/commits.py)."""

    def at(self, sha: str) -> Session | OnNode: ...


class NodeSource(CommitSource, Protocol):
    """One node of a cluster, which compares commits, too."""

    def compare(self, request: ComparisonRequest) -> EnvironmentComparison: ...


@dataclasses.dataclass(frozen=True)
class Measured:
    """The outcome of a commit: what the caller's function returned, or why it could not be measured."""

    sha: str
    outcome: Any = None
    error: PhotometerError | None = None


class CommitNodes(Protocol):
    """Several nodes that measure commits: those of a Ray cluster are remote/commits.py."""

    def machines(self) -> list[Machine]:
        """Return the machines that would measure."""

    def ship(self, repository: Path, shas: Sequence[str], install: str | None) -> None:
        """Put the files of these commits where nodes can fetch them."""

    def any_lane(self) -> AbstractContextManager[NodeSource]:
        """Return one node that measures commits one by one."""

    def measure_all(self, shas: Sequence[str], measure: Callable[[CommitSource, str], Any]) -> Iterator[Measured]:
        """Yield what `measure(lane, sha)` returns for each commit as it completes."""


class CommitLane:
    """Use as a context manager. `at(sha)` is valid until the next call.

    `code` are folders with the code of a suite of another tool: the same for all commits.
    """

    def __init__(
        self,
        repository: Path,
        *,
        install: str | None = None,
        python: str | None = None,
        code: tuple[str, ...] = (),
    ) -> None:
        self._repository = repository
        self._install = install
        self._code = code
        self._interpreter = parse_environment(python or "current").interpreter
        self._worktrees = Worktrees()
        self._checkout: Checkout | None = None
        self._session: LastingSession | None = None

    def at(self, sha: str) -> Session:
        """Return a session that measures a commit. Raise an error for one that cannot be checked out or installed."""
        if self._install is not None:
            return self._installed(sha)
        self._move_to(sha)
        assert self._checkout is not None
        path = (*self._code, *(of_fixed_length(folder) for folder in self._checkout.import_paths))
        if self._session is None or self._session.environment.path != path:
            self._end_session()
            self._session = LastingSession(Environment(self._interpreter, path))
        return self._session

    def _installed(self, sha: str) -> Session:
        self._end_session()
        source = GitSource(sha, self._repository)
        spec = EnvironmentSpec(f"git:{sha}", python=self._interpreter, git=source)
        resolved = resolve_environment(spec, self._worktrees, install=self._install)
        self._session = LastingSession(resolved.environment.with_code(self._code))
        return self._session

    def _move_to(self, sha: str) -> None:
        """Put the files of a commit into the folder; nothing of the former commit stays, not even compiled modules."""
        if self._checkout is None:
            # Commits take turns in this folder, so it is not kept.
            self._checkout = self._worktrees.check_out(GitSource(sha, self._repository), may_be_kept=False)
            return
        folder = self._checkout.folder
        repository = top_of(GitSource(sha, self._repository))
        empty_submodules(repository, self._checkout.commit, folder)
        for arguments in (("checkout", "--quiet", "--force", "--detach", sha), ("clean", "-ffdxq")):
            run_git(folder, *arguments, failed="the commit could not be checked out", remedy=REMEDY)
        fill_submodules(repository, sha, folder)
        self._checkout = Checkout(folder, sha)
        if self._session is not None:
            self._session.forget_imports()

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
