"""A review survives its file, in this version and the last; what is no review is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from photometer.ci.report_files import render_junit
from photometer.ci.review import FILE_NAME, Review, read_review, write_review
from photometer.errors import PhotometerError
from tests.ci.reviews import everything, many_sides

# As version 1 wrote it.
OLD_REVIEW = Path(__file__).parent / "data" / "review-1.json"


@pytest.mark.parametrize("made", [everything(), many_sides()], ids=["two sides", "many sides"])
def test_a_review_is_read_as_it_was_written(made: Review, tmp_path: Path) -> None:
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
        '{"version": 3}',
        "[" * 10_000,
        '{"version": 1, "a": NaN}',
        '{"version": 1, "comparison": 3, "gate": []}',
        '{"version": 2, "comparison": 3, "gate": []}',
    ],
)
def test_a_file_that_is_no_review_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(PhotometerError, match=r"review\.json"):
        read_review(tmp_path)


def test_a_review_of_version_1_is_read() -> None:
    """It knew two sides, which had no names but base and branch. `photometer comment` may be newer than the rest."""
    old = read_review(OLD_REVIEW)
    comparison = old.comparison
    assert comparison.names == ("git:main (abc)", "git:WORKTREE (def)")
    assert [(each.title, each.verdict, each.side, each.before) for each in comparison] == [
        ("add", "slower", 1, 0),
        ("mul", "same", 1, 0),
    ]
    assert [failure.title for failure in comparison.failures] == ["div"]
    assert (comparison.not_reached, comparison.warnings, comparison.margin) == (("pow",), ("careful",), 0.003)
    (breach,) = old.gate.of("id of add")
    assert (breach.sentence, breach.side, old.gate.outcome) == ("slower by 20 %", 1, "slower")


@pytest.mark.parametrize(
    "change",
    [
        {"names": []},
        {"names": ["a"]},
        {"names": "ab"},
        {"results": [{"side": 3}]},
        {"results": [{"side": 0}]},
        {"results": [{"side": 2, "before": 2}]},
        {"failures": [{"order_id": "1", "title": "add", "side": "d", "message": "", "place": 3}]},
    ],
    ids=str,
)
def test_a_review_of_sides_that_are_not_there_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    write_review(tmp_path / FILE_NAME, many_sides())
    record = json.loads((tmp_path / FILE_NAME).read_text())
    results = record["comparison"]["results"]
    if "results" in change:
        change = {"results": [{**results[0], **each} for each in change["results"]]}
    record["comparison"].update(change)
    (tmp_path / FILE_NAME).write_text(json.dumps(record))
    with pytest.raises(PhotometerError, match=r"review\.json"):
        read_review(tmp_path)
