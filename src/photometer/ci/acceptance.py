"""Known changes: what the author of a branch accepts in a commit's message, or in a file, with a reason.

    photometer: accept rung/plain tensor the check is needed

Only what the branch itself says counts: messages of its own commits, and lines of the file that the base does not have.
So nothing needs to be taken back after a merge, and no figure is checked in.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from photometer.analysis.comparison_result import ComparisonResult, EnvironmentComparison
from photometer.environments.spec import WORKTREE, EnvironmentSpec
from photometer.environments.worktree import resolve
from photometer.errors import EnvironmentSpecError, ResultsFileError
from photometer.history.repository import Repository
from photometer.plan.selection import names_benchmark, plain_name

FILE_NAME = "photometer-accepted.txt"
_LINE = re.compile(r"^[ \t]*photometer:[ \t]*accept[ \t]+(\S.*?)[ \t]*$", re.MULTILINE | re.IGNORECASE)
_QUOTED = re.compile(r"""(?P<quote>["'`])(?P<name>.+?)(?P=quote)(?P<reason>.*)""")


@dataclasses.dataclass(frozen=True)
class Acceptance:
    """A benchmark and a reason, as written after `accept` (`text`), and where it was written (`source`)."""

    text: str
    source: str

    def reason_for(self, title: str) -> str | None:
        """Return why the benchmark's change is accepted: None if another one is meant, empty if no reason is given."""
        quoted = _QUOTED.fullmatch(self.text)
        if quoted is not None:
            return _bare(quoted["reason"]) if names_benchmark(quoted["name"], title) else None
        # A name may contain spaces: the longest prefix that matches this benchmark is the name.
        words = self.text.split()
        for length in range(len(words), 0, -1):
            if names_benchmark(" ".join(words[:length]).rstrip(":"), title):
                return _bare(" ".join(words[length:]))
        return None


def acceptance_line(name: str) -> str:
    """Return the line that accepts the benchmark, to be completed with a reason."""
    quote = next((each for each in "\"'`" if each not in name), '"')
    return f"photometer: accept {quote}{name}{quote} REASON"


def accept(comparison: EnvironmentComparison, acceptances: Sequence[Acceptance]) -> EnvironmentComparison:
    """Return the comparison with the accepted reasons filled in, and warnings about acceptances that match nothing."""
    if not acceptances:
        return comparison
    used: set[Acceptance] = set()
    results = tuple(_accepted(result, acceptances, used) for result in comparison.results)
    without = [each for each in used if any(each.reason_for(result.title) == "" for result in results)]
    warnings = [f"{each.source} accepts {each.text!r} without a reason, so it is ignored" for each in without]
    named = {plain_name(result.title) for result in results} | {plain_name(each.title) for each in comparison.failures}
    for each in acceptances:
        if each not in used and named:
            warnings.append(f"{each.source} accepts {each.text!r}, which is not a benchmark of this comparison")
    return dataclasses.replace(comparison, results=results, warnings=(*comparison.warnings, *dict.fromkeys(warnings)))


def _accepted(result: ComparisonResult, acceptances: Sequence[Acceptance], used: set[Acceptance]) -> ComparisonResult:
    reasons = []
    for each in acceptances:
        reason = each.reason_for(result.title)
        if reason is not None:
            used.add(each)
        if reason:
            reasons.append(f"{reason} ({each.source})")
    return dataclasses.replace(result, accepted="; ".join(dict.fromkeys(reasons))) if reasons else result


def find_acceptances(specs: Sequence[EnvironmentSpec], file: Path | None = None) -> tuple[Acceptance, ...]:
    """Return what the commits between the first side and the others, and the file, accept.

    Commits count if the sides are revisions of one repository; without one, every line of the file counts.
    """
    first, *others = specs
    return tuple(dict.fromkeys(each for other in others for each in _between(first, other, file)))


def _between(first: EnvironmentSpec, other: EnvironmentSpec, file: Path | None) -> tuple[Acceptance, ...]:
    base, branch = first.git, other.git
    repository = None if branch is None else Repository.find(branch.repository)
    if repository is None or base is None or branch is None or Repository.find(base.repository) is None:
        path = file or Path(FILE_NAME)
        return tuple(_in_file(path, "")) if path.is_file() else ()
    path = file or repository.top / FILE_NAME
    old = resolve(repository.top, base.revision)
    new = "HEAD" if branch.revision == WORKTREE else resolve(repository.top, branch.revision)
    found = [
        Acceptance(text, f"commit {sha[:10]}")
        for sha, message in repository.messages(old, new)
        for text in _LINE.findall(message)
    ]
    before = _text_at(repository, old, path)
    if branch.revision == WORKTREE:
        return (*found, *(_in_file(path, before) if path.is_file() else ()))
    return (*found, *_in_text(_text_at(repository, new, path), path.name, before))


def _text_at(repository: Repository, revision: str, path: Path) -> str:
    try:
        inside = path.resolve().relative_to(repository.top.resolve())
        return repository.text_at(revision, inside.as_posix())
    except (EnvironmentSpecError, ValueError):
        return ""


def _in_file(path: Path, before: str) -> Iterable[Acceptance]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ResultsFileError(f"{path} cannot be read: {error}", remedy="Write lines of UTF-8 text.") from error
    return _in_text(text, path.name, before)


def _in_text(text: str, name: str, before: str) -> list[Acceptance]:
    old = {line.strip() for line in before.splitlines()}
    lines = [line.strip() for line in text.splitlines()]
    return [Acceptance(line, name) for line in lines if line and not line.startswith("#") and line not in old]


def _bare(reason: str) -> str:
    return reason.strip().lstrip(":–-").strip()
