"""GitHubRun: what GitHub Actions passes to a step in variables, and the files that it reads from the step.

In: GITHUB_* variables and the event's file. Out: the repository and pull request, where to write a summary
and outputs. The token never appears in a representation of this.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from photometer.errors import PostingError
from photometer.model.whole_file import not_written

# A step's summary may have 1 MiB; a larger one is refused entirely.
LARGEST_SUMMARY = 1024 * 1024 - 4096
_PULL_REQUEST = re.compile(r"refs/pull/(\d+)/(?:merge|head)")
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")


@dataclasses.dataclass(frozen=True)
class Head:
    """The commit of a pull request, and the branch it is on: `owner:branch`."""

    commit: str
    branch: str


@dataclasses.dataclass(frozen=True)
class GitHubRun:
    """A step of a workflow. Outside GitHub all fields are empty."""

    repository: str = ""
    api_url: str = "https://api.github.com"
    server_url: str = "https://github.com"
    run_id: str = ""
    ref: str = ""
    event: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    summary_file: Path | None = None
    output_file: Path | None = None
    token: str = dataclasses.field(default="", repr=False)

    @classmethod
    def here(cls, variables: Mapping[str, str]) -> GitHubRun:
        """Return the run that these variables describe."""
        summary, output = variables.get("GITHUB_STEP_SUMMARY"), variables.get("GITHUB_OUTPUT")
        return cls(
            repository=variables.get("GITHUB_REPOSITORY", ""),
            api_url=variables.get("GITHUB_API_URL") or cls.api_url,
            server_url=variables.get("GITHUB_SERVER_URL") or cls.server_url,
            run_id=variables.get("GITHUB_RUN_ID", ""),
            ref=variables.get("GITHUB_REF", ""),
            event=_event(variables.get("GITHUB_EVENT_PATH")),
            summary_file=Path(summary) if summary else None,
            output_file=Path(output) if output else None,
            token=variables.get("GITHUB_TOKEN", ""),
        )

    @property
    def run_url(self) -> str:
        """Return the page of this run, or of the run whose results are posted; its artifacts are there."""
        run_id = self._of("workflow_run", "id") or self.run_id
        if not run_id or not _REPOSITORY.fullmatch(self.repository):
            return ""
        return f"{self.server_url}/{self.repository}/actions/runs/{run_id}"

    @property
    def pull_request(self) -> int | None:
        """Return the number of the pull request that this run belongs to, if the event says so."""
        number = self._of("pull_request", "number") or self._of("issue", "number")
        if isinstance(number, int):
            return number
        found = _PULL_REQUEST.fullmatch(self.ref)
        return int(found[1]) if found else None

    @property
    def head(self) -> Head | None:
        """Return the commit that the triggering workflow ran on. The event does not name a fork's pull request."""
        commit, branch = self._of("workflow_run", "head_sha"), self._of("workflow_run", "head_branch")
        owner = self._of("workflow_run", "head_repository", "owner", "login")
        if not all(isinstance(each, str) and each for each in (commit, branch, owner)):
            return None
        return Head(str(commit), f"{owner}:{branch}")

    def add_summary(self, text: str) -> None:
        """Append to the summary of the step, cut to the size that GitHub accepts."""
        if self.summary_file is not None:
            content = text.encode("utf-8", "backslashreplace")
            if len(content) > LARGEST_SUMMARY:
                content = content[:LARGEST_SUMMARY].rpartition(b"\n")[0] + b"\n\nThe rest was cut off.\n"
            _append(self.summary_file, content)

    def set_outputs(self, values: Mapping[str, str]) -> None:
        """Pass values to later steps. Each is put on one line: further lines could set other outputs."""
        if self.output_file is not None:
            lines = [f"{name}={' '.join(value.split())}\n" for name, value in values.items()]
            _append(self.output_file, "".join(lines).encode("utf-8", "backslashreplace"))

    def _of(self, *path: str) -> Any:
        value: Any = self.event
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value


def _event(path: str | None) -> Mapping[str, Any]:
    if not path:
        return {}
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PostingError(f"the event file cannot be read: {error}", remedy="Check GITHUB_EVENT_PATH.") from error
    return content if isinstance(content, dict) else {}


def _append(path: Path, content: bytes) -> None:
    try:
        with path.open("ab") as file:
            file.write(content)
    except OSError as error:
        raise not_written(path, error) from error
