"""JUnit's XML and GitLab's metrics: read back by real parsers, hostile labels included. A review survives its file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from photometer.analysis.comparison_result import ComparisonFailure
from photometer.ci.github_run import GitHubRun
from photometer.ci.junit import render_junit
from photometer.ci.open_metrics import render_open_metrics
from photometer.ci.review import FILE_NAME, Review, read_review, write_review
from photometer.errors import PhotometerError
from tests.analysis.verdicts import result
from tests.ci.reviews import HOSTILE, memory, more_instructions, review


def everything() -> Review:
    return review(
        result("slower", 1.1, "add", cause="more instructions", instructions=more_instructions(0.1)),
        result("identical", 1.0, HOSTILE, memory=memory("more", 100, 200)),
        result("undecided", 1.0, "div"),
        failures=(ComparisonFailure("id", HOSTILE, "base", HOSTILE, HOSTILE),),
        not_reached=("sub",),
        fail_on="slower,instructions:1%",
    )


def test_one_test_case_per_benchmark() -> None:
    root = ElementTree.fromstring(render_junit(everything()))
    (suite,) = root
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
    }
    slower = next(case for case in suite if case.get("name") == "add")
    failure = slower.find("failure")
    assert failure is not None
    assert failure.get("message") == "slower by 10 %; 10 % more instructions, more than the 1 % allowed"
    assert failure.get("type") == "slower, instructions:1%"
    assert "more instructions" in (failure.text or "")
    assert float(slower.get("time") or 0) == pytest.approx(1.1e-6)
    assert [case.find("error") is not None for case in suite].count(True) == 1


def test_metrics_are_one_line_per_figure() -> None:
    lines = render_open_metrics(everything().comparison).splitlines()
    assert lines[-1] == "# EOF"
    line = re.compile(r'photometer_[a-z_]+\{benchmark="(?:[^"\\\n]|\\\\|\\")*"\} [-+0-9.e]+')
    assert all(each.startswith("# TYPE photometer_") or line.fullmatch(each) for each in lines[:-1])
    assert 'photometer_seconds{benchmark="add"} 1.1e-06' in lines
    assert 'photometer_instructions{benchmark="add"} 1100' in lines


def test_a_review_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = everything()
    write_review(tmp_path / FILE_NAME, made)
    assert render_junit(read_review(tmp_path)) == render_junit(made)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"version": 1}',
        '{"version": 2}',
        "[" * 10_000,
        '{"version": 1, "a": NaN}',
        '{"version": 1, "comparison": 3, "gate": []}',
    ],
)
def test_a_file_that_is_no_review_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(PhotometerError, match=r"review\.json"):
        read_review(tmp_path)


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
