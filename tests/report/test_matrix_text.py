"""The table of many sides: what it says, that it is escaped, and that its page is safe and whole."""

from __future__ import annotations

import re
from typing import Any

from photometer.analysis.comparison_result import (
    ComparisonFailure,
    ComparisonResult,
    ComparisonSkip,
    EnvironmentComparison,
)
from photometer.report.matrix_page import TREND_HEIGHT, render_matrix_page, trend_of
from photometer.report.matrix_text import (
    cell_text,
    headline,
    reference_text,
    render_matrix,
    render_matrix_markdown,
    short_names,
    side_counts,
    steps_text,
)
from tests.analysis.verdicts import result, verdict
from tests.ci.reviews import memory

NAMES = ("pip:torch==2.11.0", "pip:torch==2.12.1", "pip:torch==2.13.0")


# What is known of one benchmark: its results and failures on all sides.
Known = tuple[ComparisonResult | ComparisonFailure, ...]


def matrix(*rows: Known, names: tuple[str, ...] = NAMES, **changes: Any) -> EnvironmentComparison:
    known = [each for row in rows for each in row]
    return EnvironmentComparison(
        names,
        "standard",
        tuple(each for each in known if isinstance(each, ComparisonResult)),
        tuple(each for each in known if isinstance(each, ComparisonFailure)),
        margin=0.003,
        false_discovery_rate=0.05,
        measuring_seconds=3.0,
        **changes,
    )


def row(title: str = "add") -> Known:
    first = result("same", 1.001, title)
    return first, result("slower", 1.08, title, side=2, before=1, step=verdict("slower", 1.079))


def failed(message: str = "it broke") -> Known:
    return (ComparisonFailure("id of broken", "broken", NAMES[1], message, place=1),)


def test_names_lose_what_they_share() -> None:
    assert short_names(NAMES) == ["2.11.0", "2.12.1", "2.13.0"]
    assert short_names(["git:main", "git:WORKTREE"]) == ["main", "WORKTREE"]
    assert short_names(["current", "current"]) == ["current", "current"]
    assert short_names(["a" * 60, "b"])[0] == f"{'a' * 13}…{'a' * 14}"
    assert len(set(short_names([f"{'a' * 30}{i}{'a' * 30}" for i in range(3)]))) == 3
    assert short_names([]) == []
    assert short_names(["pip:torch==2.12.1", "pip:torch==2.13.0 (torch 2.13.0+cpu)"]) == ["2.12.1", "2.13.0"]
    assert short_names(["git:main (abc)", "git:main (def)"]) == ["(abc)", "(def)"]


def test_the_table_says_where_it_changed() -> None:
    careful = result("same", title="broken", side=2, warnings=("careful",))
    text = render_matrix(matrix(row(), (*failed(), careful)))
    assert text.startswith("Slower than 2.11.0: 2.13.0 in 1 of 2 benchmarks.")
    assert re.search(r"add +1\.00 µs +same within 0\.3 % +\+8\.0 % slower +2\.13\.0 \(\+7\.9 %\)", text)
    assert "failed on pip:torch==2.12.1: broken: it broke" in text
    assert "! broken: careful" in text
    assert "\033" not in text
    assert "\033[1;31m" in render_matrix(matrix(row()), colour=True)
    assert steps_text(matrix(row()).rows[0], short_names(NAMES)) == "2.13.0 (+7.9 %)"


def test_what_is_known_of_a_side_is_said_below_the_table() -> None:
    """Causes, memory, acceptances and what was not reached: with the side that it is about."""
    more = memory("more", 100, 164)
    slower = result("slower", 1.08, side=2, cause="more instructions.", memory=more, accepted="known")
    found = matrix((result("same"), slower), not_reached=("mul on 2.12.1",))
    text, markdown, page = render_matrix(found), render_matrix_markdown(found), render_matrix_page(found)
    for said in (text, markdown):
        assert "add on 2.13.0:" in said
        assert "more instructions." in said
        assert "accepted: known" in said
        assert "64 B more" in said
    assert "not reached in time: mul on 2.12.1" in text
    assert side_counts(found, 2) == "1 slower, 1 allocates more"
    assert side_counts(found, 1) == "1 same within 0.3 %"
    assert "64 B more" in page
    assert "not reached in time: mul on 2.12.1" in page


def test_what_is_accepted_is_not_the_answer() -> None:
    known = result("slower", 1.08, side=2, accepted="known")
    assert headline(matrix((result("same"), known))) == "Nothing is slower than 2.11.0 except what is accepted."
    worse = result("slower", 1.5, "mul")
    assert headline(matrix((result("same"), known), (worse,))) == "Slower than 2.11.0: 2.12.1 in 1 of 2 benchmarks."


def test_a_failure_on_a_side_that_is_not_known_is_one_on_all_of_them() -> None:
    """A benchmark that ends while all sides are measured: nobody knows on which one."""
    found = matrix(row(), (ComparisonFailure("id of broken", "broken", "", "it broke"),))
    text = render_matrix(found)
    assert re.search(r"broken +– +failed +failed", text)
    assert [len(pair.failures) for pair in found.pairs] == [1, 1]
    assert {failure.title for failure in found.titled_by_side().failures} == {"broken"}


def test_a_skip_is_a_word_in_the_table_and_a_line_below() -> None:
    skip = ComparisonSkip("id of new", "new", NAMES[0], "only since 2.12", place=0)
    everywhere = ComparisonSkip("id of never", "never", "", "never")
    found = matrix(row(), skips=(skip, everywhere))
    words = {each.title: (reference_text(each), cell_text(each, 1), cell_text(each, 2)) for each in found.rows}
    assert words["new"] == ("skipped", "skipped", "skipped")
    assert words["never"] == ("–", "skipped", "skipped")
    assert side_counts(found, 1) == "1 same within 0.3 %, 2 skipped"
    text = render_matrix(found, 120)
    assert f"1 skipped on {NAMES[0]}: only since 2.12 (new)" in text
    assert "failed" not in text
    assert f"skipped on {NAMES[0]}: only since 2.12" in render_matrix_page(found)
    assert f"1 skipped on {NAMES[0]}: only since 2.12" in render_matrix_markdown(found).replace("\\", "")


def test_counts_of_a_side() -> None:
    assert side_counts(matrix(row(), failed()), 1) == "1 same within 0.3 %, 1 without a verdict"
    assert side_counts(matrix(), 1) == "nothing ran"


def test_answers() -> None:
    same: Known = (result("same"), result("identical", side=2))
    undecided: Known = (result("undecided"), result("same", side=2))
    assert headline(matrix(same)) == "Nothing is slower than 2.11.0: no difference above 0.3 %."
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
    wild = matrix(
        (
            ComparisonResult("a", "a", verdict("slower", 50.0, interval=(0.0, float("inf")))),
            ComparisonResult("a", "a", verdict("faster", 0.01, interval=(0.009, 0.011)), side=2),
        )
    )
    points = trend_of(wild.rows[0], len(NAMES))
    assert len(points) == 3
    for point in points:
        assert all(0 <= y <= TREND_HEIGHT for y in (point.y, point.low_y, point.high_y))
    assert trend_of(matrix(failed()).rows[0], len(NAMES)) == ()
