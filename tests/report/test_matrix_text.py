"""The table of many sides: what it says, that it is escaped, and that its page is safe and whole."""

from __future__ import annotations

import re

from photometer.analysis.matrix_result import MatrixCell, MatrixComparison, MatrixRow
from photometer.report.matrix_page import TREND_HEIGHT, render_matrix_page, trend_of
from photometer.report.matrix_text import (
    headline,
    render_matrix,
    render_matrix_markdown,
    short_names,
    side_counts,
    steps_text,
)
from tests.analysis.verdicts import verdict

NAMES = ("pip:torch==2.11.0", "pip:torch==2.12.1", "pip:torch==2.13.0")


def matrix(*rows: MatrixRow, names: tuple[str, ...] = NAMES) -> MatrixComparison:
    return MatrixComparison(names, "standard", rows, margin=0.003, false_discovery_rate=0.05, measuring_seconds=3.0)


def row(title: str = "add") -> MatrixRow:
    first = MatrixCell(1, verdict("same", 1.001), 0, verdict("same", 1.001))
    second = MatrixCell(2, verdict("slower", 1.08), 1, verdict("slower", 1.079))
    return MatrixRow(f"id of {title}", title, (first, second))


def failed(message: str = "it broke") -> MatrixRow:
    return MatrixRow("b", "broken", (MatrixCell(1, failure=message), MatrixCell(2)), warnings=("careful",))


def test_names_lose_what_they_share() -> None:
    assert short_names(NAMES) == ["2.11.0", "2.12.1", "2.13.0"]
    assert short_names(["git:main", "git:WORKTREE"]) == ["main", "WORKTREE"]
    assert short_names(["current", "current"]) == ["current", "current"]
    assert short_names(["a" * 60, "b"])[0].endswith("…")
    assert short_names([]) == []
    assert short_names(["pip:torch==2.12.1", "pip:torch==2.13.0 (torch 2.13.0+cpu)"]) == ["2.12.1", "2.13.0"]
    assert short_names(["git:main (abc)", "git:main (def)"]) == ["(abc)", "(def)"]


def test_the_table_says_where_it_changed() -> None:
    text = render_matrix(matrix(row(), failed()))
    assert text.startswith("Slower than 2.11.0: 2.13.0 in 1 of 2 benchmarks.")
    assert re.search(r"add +1\.00 us +same +\+8\.0 % slower +2\.13\.0 \(\+7\.9 %\)", text)
    assert "failed on pip:torch==2.12.1: broken: it broke" in text
    assert "! broken: careful" in text
    assert "\033" not in text
    assert "\033[1;31m" in render_matrix(matrix(row()), colour=True)
    assert steps_text(row(), short_names(NAMES)) == "2.13.0 (+7.9 %)"


def test_counts_of_a_side() -> None:
    assert side_counts(matrix(row(), failed()), 1) == "1 same, 1 without a verdict"
    assert side_counts(matrix(), 1) == "nothing ran"


def test_answers() -> None:
    same = MatrixRow("a", "a", (MatrixCell(1, verdict("same")), MatrixCell(2, verdict("identical"))))
    undecided = MatrixRow("a", "a", (MatrixCell(1, verdict("undecided")), MatrixCell(2, verdict("same"))))
    assert headline(matrix(same)) == "Nothing is slower than 2.11.0."
    assert headline(matrix(undecided)).startswith("Undecided")
    assert headline(matrix(failed())).startswith("Something failed")
    assert headline(matrix()) == "Nothing ran."
    assert [matrix(each).outcome for each in (same, undecided, failed(), row())] == [
        "fine",
        "undecided",
        "failed",
        "slower",
    ]


def test_text_of_users_is_escaped() -> None:
    hostile = "<script>alert(1)</script>|\x1b[31m"
    found = matrix(row(hostile), failed(hostile), names=(*NAMES[:2], hostile))
    page = render_matrix_page(found, hostile)
    assert "<script>alert" not in page
    assert page.count("<script>") == 1
    assert "\x1b" not in page
    assert "\x1b" not in render_matrix(found)
    markdown = render_matrix_markdown(found)
    assert "<script>" not in markdown
    assert len({line.count("|") - line.count("\\|") for line in markdown.splitlines() if line.startswith("|")}) == 1


def test_the_page_links_each_row_to_its_details() -> None:
    page = render_matrix_page(matrix(row(), row("mul"), failed()))
    links = re.findall(r'href="#(benchmark-\d+)"', page)
    assert len(links) == 3
    assert all(f'id="{link}"' in page for link in links)
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page


def test_a_trend_stays_in_its_box() -> None:
    wild = MatrixRow(
        "a",
        "a",
        (
            MatrixCell(1, verdict("slower", 50.0, interval=(0.0, float("inf")))),
            MatrixCell(2, verdict("faster", 0.01, interval=(0.009, 0.011))),
        ),
    )
    for point in trend_of(wild):
        assert all(0 <= y <= TREND_HEIGHT for y in (point.y, point.low_y, point.high_y))
    assert trend_of(failed()) == ()
