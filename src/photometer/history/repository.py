"""Repository: what history needs from git: a commit's author and date, the commits between two, the project's name.

It only reads. Names of remotes are shown without the user and password that a URL may hold.
"""

from __future__ import annotations

import re
from pathlib import Path

from photometer.errors import EnvironmentSpecError
from photometer.git import find_commit, git_text, top_of_repository
from photometer.history.nouns import Commit

# Counting the ancestors of a commit of a large repository takes a second or two.
GIT_SECONDS = 60.0
# A branch has some dozen commits; one that left long ago is not read as a whole.
MOST_MESSAGES = 1000
_FIELDS = "%H%x00%ct%x00%at%x00%P%x00%an%x00%s"
_CREDENTIALS = re.compile(r"^[^/@]*@")


class Repository:
    """The git repository that a folder lies in; `top` is its root."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or Path.cwd()
        self.top = top_of_repository(self.folder)

    @classmethod
    def find(cls, folder: Path | None = None) -> Repository | None:
        """Return the repository of a folder; None if it is in none, or git is not installed."""
        try:
            return cls(folder)
        except EnvironmentSpecError:
            return None

    def project(self) -> str:
        """Return a name that is the same in every clone: the remote's host and path, or the root folder's name."""
        try:
            url = self._git("config", "--get", "remote.origin.url")
        except EnvironmentSpecError:
            return self.top.name
        return project_of_url(url) or self.top.name

    def branch(self) -> str:
        """Return the branch that is checked out, or an empty text."""
        try:
            return self._git("symbolic-ref", "--quiet", "--short", "HEAD")
        except EnvironmentSpecError:
            return ""

    def resolve(self, revision: str) -> str:
        """Return the full name of the commit that a revision names."""
        return find_commit(self.folder, revision)

    def commit(self, revision: str) -> Commit:
        """Return the author, dates and subject of a commit."""
        sha = self.resolve(revision)
        shown = self._git("show", "--no-patch", f"--format={_FIELDS}", sha)
        name, committed, authored, parents, author, subject = shown.split("\0")
        return Commit(
            name, int(committed), int(authored), self._generation(name), tuple(parents.split()), author, subject
        )

    def find_commit(self, sha: str) -> Commit | None:
        """Return the commit, or None if this repository does not have it."""
        try:
            return self.commit(sha)
        except EnvironmentSpecError:
            return None

    def between(self, old: str, new: str) -> tuple[str, ...]:
        """Return the commits after `old` up to `new`, oldest first, along first parents: merges count as one step."""
        listed = self._git("rev-list", "--first-parent", "--reverse", f"{self.resolve(old)}..{self.resolve(new)}")
        return tuple(listed.split())

    def messages(self, old: str, new: str) -> tuple[tuple[str, str], ...]:
        """Return the commits that are in `new` and not in `old`, as name and message, newest first."""
        shown = self._git("log", f"-n{MOST_MESSAGES}", "--format=%H%x00%B%x00", f"{old}..{new}", "--")
        parts = shown.split("\0")
        return tuple((sha.strip(), message) for sha, message in zip(parts[::2], parts[1::2], strict=False))

    def text_at(self, revision: str, path: str) -> str:
        """Return the text of a file at a revision."""
        return self._git("show", "--end-of-options", f"{revision}:{path}")

    def is_ancestor(self, old: str, new: str) -> bool:
        try:
            self._git("merge-base", "--is-ancestor", old, new)
        except EnvironmentSpecError:
            return False
        return True

    def _generation(self, sha: str) -> int:
        if self._git("rev-parse", "--is-shallow-repository") == "true":
            return 0
        return int(self._git("rev-list", "--count", sha))

    def _git(self, *arguments: str) -> str:
        remedy = "Run this in a git repository, and name revisions that it has."
        # Names of authors go into stores and pages, which take no half characters.
        return git_text(self.folder, *arguments, seconds=GIT_SECONDS, errors="replace", remedy=remedy)


def project_of_url(url: str) -> str:
    """Return `host/owner/name` from a remote's URL of any form, without user, password and `.git`."""
    text = url.strip()
    _, scheme, rest = text.partition("://")
    if not scheme:
        # git@host:owner/name, or a path.
        rest = re.sub(r"^([^/:]+):(?!/)", r"\1/", text)
    rest = _CREDENTIALS.sub("", rest)
    if rest.startswith(("/", ".")):
        return Path(rest).name.removesuffix(".git")
    return rest.partition("?")[0].removesuffix("/").removesuffix(".git")
