"""action.yml: its steps run as the scripts that they are, with GitHub's variables and a local server for its API."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from photometer.ci.review import FILE_NAME, write_review
from tests.analysis.verdicts import result
from tests.ci.action_steps import ACTION, ROOT, STEPS, run_step
from tests.ci.fake_github import TOKEN, fake_github
from tests.ci.reviews import HOSTILE, review


def recording_python(folder: Path, status: int) -> str:
    """Return an interpreter that writes down what it is called with."""
    python = folder / "python"
    python.write_text(f'#!/bin/bash\nprintf "%s\\n" "$@" > "{folder}/arguments"\nexit {status}\n')
    python.chmod(0o755)
    return str(python)


def test_inputs_become_options_and_never_code(tmp_path: Path) -> None:
    hostile = "x'; touch gone; $(touch gone) `touch gone`"
    inputs = {
        "python": recording_python(tmp_path, 3),
        "suite": hostile,
        "base": "main",
        "margin": "1%",
        "fail-on": "slower:5%",
        "store": "postgresql://host/db",
        "arguments": "--limit 300 -k 'one or two'",
    }
    done = run_step("compare", tmp_path, inputs)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "arguments").read_text().splitlines() == [
        *("-m", "photometer", "compare", "git:merge-base:origin/main", "git:WORKTREE"),
        *("--format", "github", "--output", f"{tmp_path}/photometer", "--junit", f"{tmp_path}/photometer/junit.xml"),
        *("--suite", hostile, "--margin", "1%", "--fail-on", "slower:5%", "--store", "postgresql://host/db"),
        *("--limit", "300", "-k", "one or two"),
    ]
    assert (tmp_path / "output").read_text() == f"status=3\nfolder={tmp_path}/photometer\n"
    assert not (tmp_path / "gone").exists()
    assert run_step("verdict", tmp_path, {}, STATUS="3").returncode == 3
    assert run_step("verdict", tmp_path, {}, STATUS="").returncode == 1


def test_without_inputs_the_project_decides(tmp_path: Path) -> None:
    done = run_step("compare", tmp_path, {"python": recording_python(tmp_path, 0)})
    assert done.returncode == 0, done.stderr
    arguments = (tmp_path / "arguments").read_text().splitlines()
    assert arguments[:5] == ["-m", "photometer", "compare", "--format", "github"]
    assert "--suite" not in arguments
    done = run_step("compare", tmp_path, {"python": recording_python(tmp_path, 0), "base": "git:v1.0"})
    assert done.returncode == 0
    assert (tmp_path / "arguments").read_text().splitlines()[3:5] == ["git:v1.0", "git:WORKTREE"]
    # An option that cannot be read is no option left out.
    assert (
        run_step("compare", tmp_path, {"python": recording_python(tmp_path, 0), "arguments": "-k 'a"}).returncode != 0
    )


def test_what_is_there_is_not_installed_again(tmp_path: Path) -> None:
    done = run_step("install", tmp_path, {"python": sys.executable})
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


@pytest.mark.lengthy
@pytest.mark.parametrize("is_fork", [False, True])
def test_the_comment_is_posted_once_and_updated(tmp_path: Path, is_fork: bool) -> None:
    folder = tmp_path / "photometer"
    folder.mkdir()
    write_review(folder / FILE_NAME, review(result("slower", 1.03, HOSTILE)))
    own: dict[str, Any] = {"pull_request": {"number": 7}}
    fork: dict[str, Any] = {
        "workflow_run": {"id": 5, "head_sha": "abc", "head_branch": "b", "head_repository": {"owner": {"login": "o"}}}
    }
    (tmp_path / "event.json").write_text(json.dumps(fork if is_fork else own))
    with fake_github() as github:
        github.pulls = [{"number": 7, "head": {"sha": "abc"}}]
        variables = {
            "GITHUB_REPOSITORY": "a/b",
            "GITHUB_API_URL": github.url,
            "GITHUB_RUN_ID": "5",
            "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
            "FOLDER": str(folder),
        }
        inputs = {"python": sys.executable, "token": TOKEN}
        first = run_step("comment", tmp_path, inputs, None, **variables)
        assert first.returncode == 0, first.stderr
        assert first.stdout.startswith("created")
        write_review(folder / FILE_NAME, review(result("identical", title="add")))
        second = run_step("comment", tmp_path, inputs, None, **variables)
        assert second.stdout.startswith("updated")
        (comment,) = github.comments
        assert "Nothing is slower" in comment["body"]
        assert "https://github.com/a/b/actions/runs/5" in comment["body"]
        refused = run_step("comment", tmp_path, {**inputs, "token": "wrong-token"}, None, **variables)
        assert refused.returncode == 1
        for done in (first, second, refused):
            assert TOKEN not in done.stdout + done.stderr
            assert "wrong-token" not in done.stdout + done.stderr


def test_every_input_is_used_and_forks_get_no_token() -> None:
    text = (ROOT / "action.yml").read_text()
    for name in ACTION["inputs"]:
        assert f"inputs.{name}" in text, f"{name} is not used"
    # What is measured runs without the token.
    assert [step["name"] for step in ACTION["runs"]["steps"] if "token" in str(step.get("env", ""))] == [
        "Comment on the pull request"
    ]
    assert "head.repo.full_name == github.repository" in STEPS["comment"]["if"]
