"""The whole story of a sample repository: init, a first run, and three pull requests, through the action's own steps.

One changes a comment (green), one makes a function 3 % slower (red, with the cause in the comment and on the line), and
one does the same and accepts it. All of it is real but GitHub, which a local server plays.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.ci.action_steps import run_step
from tests.ci.fake_github import TOKEN, FakeGitHub, fake_github
from tests.photometer_command import photometer
from tests.repositories import git

# One addition in thirty is 3 %.
OPS = """\
import torch


def mix(x: torch.Tensor) -> torch.Tensor:
    y = x
    for _ in range({steps}):
        y = y + x
    return y


def scale(x: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(x) * 2{remark}
"""


@dataclasses.dataclass(frozen=True)
class Checked:
    """What a pull request sees: the check's status, the comment, the output, how long it took."""

    status: int
    comment: str
    output: str
    summary: str
    seconds: float


@dataclasses.dataclass(frozen=True)
class Sample:
    """The sample repository, the runner's temporary folder, and GitHub."""

    folder: Path
    temporary: Path
    github: FakeGitHub

    def write(self, steps: int = 30, remark: str = "") -> None:
        (self.folder / "src" / "tinynet" / "ops.py").write_text(OPS.format(steps=steps, remark=remark))

    def commit(self, message: str) -> None:
        git(self.folder, "add", ".")
        git(self.folder, "commit", "-qm", message)

    def photometer(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return photometer(*arguments, cwd=self.folder)

    def pull_request(self, branch: str, message: str, **change: object) -> Checked:
        """Make a branch with one commit, and run the action on it."""
        git(self.folder, "checkout", "-qB", branch, "main")
        self.write(**change)  # type: ignore[arg-type]
        self.commit(message)
        temporary = self.temporary / branch
        temporary.mkdir()
        (temporary / "event.json").write_text(json.dumps({"pull_request": {"number": 7}}))
        variables = {
            "GITHUB_REPOSITORY": "a/b",
            "GITHUB_API_URL": self.github.url,
            "GITHUB_RUN_ID": "5",
            "GITHUB_EVENT_PATH": str(temporary / "event.json"),
            "GITHUB_STEP_SUMMARY": str(temporary / "summary.md"),
        }
        inputs = {"python": sys.executable, "token": TOKEN}
        began = time.monotonic()
        compared = run_step("compare", temporary, inputs, self.folder, **variables)
        seconds = time.monotonic() - began
        assert compared.returncode == 0, compared.stderr
        lines = (line.partition("=") for line in (temporary / "output").read_text().splitlines())
        outputs = {name: value for name, _, value in lines}
        posted = run_step("comment", temporary, inputs, self.folder, FOLDER=outputs["folder"], **variables)
        assert posted.returncode == 0, posted.stderr
        verdict = run_step("verdict", temporary, {}, STATUS=outputs["status"])
        (comment,) = self.github.comments
        summary = (temporary / "summary.md").read_text()
        return Checked(verdict.returncode, comment["body"], compared.stdout, summary, seconds)


@pytest.fixture
def sample(tmp_path: Path) -> Iterator[Sample]:
    folder = tmp_path / "tinynet"
    (folder / "src" / "tinynet").mkdir(parents=True)
    (folder / "src" / "tinynet" / "__init__.py").touch()
    (folder / "pyproject.toml").write_text('[project]\nname = "tinynet"\nversion = "1"\n')
    git(folder, "init", "-q")
    with fake_github() as github:
        made = Sample(folder, tmp_path, github)
        made.write()
        made.commit("a first version")
        yield made


@pytest.mark.nightly
@pytest.mark.valgrind
def test_init_a_first_run_and_three_pull_requests(
    sample: Sample, record_property: Callable[[str, object], None]
) -> None:
    begun = sample.photometer("init", "--yes")
    assert begun.returncode == 0, begun.stderr
    sample.commit("benchmarks")
    checked = sample.photometer("check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    first = sample.photometer("run", "-o", str(sample.temporary / "results"))
    assert first.returncode == 0, first.stdout + first.stderr
    assert "2 of 2 variants measured" in first.stdout

    remark = sample.pull_request("remark", "a remark", remark="  # twice")
    assert remark.status == 0, remark.output
    assert "🟢 **Nothing is slower. 2 identical.**" in remark.comment
    assert "::error" not in remark.output

    slower = sample.pull_request("slower", "one step more", steps=31)
    assert slower.status == 3, slower.output
    assert "🔴 **The branch is slower." in slower.comment
    assert "| **slower** | tinynet.ops › mix |" in slower.comment
    assert "mix (tinynet/ops.py" in slower.comment
    assert "::error file=src/tinynet/ops.py,line=" in slower.output
    assert "mix" in slower.summary

    accepted = sample.pull_request(
        "accepted", "one step more\n\nphotometer: accept tinynet.ops/mix the last step was missing", steps=31
    )
    assert accepted.status == 0, accepted.output
    assert "🟢 **Nothing is slower except what is accepted." in accepted.comment
    assert "the last step was missing (commit " in accepted.comment
    assert "::notice file=src/tinynet/ops.py,line=" in accepted.output
    # For the report of a nightly run; times are not asserted.
    record_property("seconds", {"remark": remark.seconds, "slower": slower.seconds, "accepted": accepted.seconds})
