"""What GitHub tells a run, and what a run tells GitHub."""

from __future__ import annotations

import json
from pathlib import Path

from photometer.ci.github_run import GitHubRun


def test_what_github_tells_and_is_told(tmp_path: Path) -> None:
    event = {
        "workflow_run": {"id": 7, "head_sha": "abc", "head_branch": "b", "head_repository": {"owner": {"login": "o"}}}
    }
    (tmp_path / "event.json").write_text(json.dumps(event))
    variables = {
        "GITHUB_REPOSITORY": "a/b",
        "GITHUB_RUN_ID": "5",
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_TOKEN": "secret",
    }
    run = GitHubRun.here(variables)
    assert run.run_url == "https://github.com/a/b/actions/runs/7"
    assert run.head is not None
    assert (run.head.commit, run.head.branch) == ("abc", "o:b")
    assert "secret" not in repr(run)
    run.add_summary("x" * 3_000_000)
    run.set_outputs({"answer": "one\nother=two"})
    assert (tmp_path / "summary").stat().st_size < 1024 * 1024
    assert (tmp_path / "output").read_text() == "answer=one other=two\n"
    assert GitHubRun.here({"GITHUB_REF": "refs/pull/12/merge"}).pull_request == 12
    assert GitHubRun.here({}).pull_request is None
