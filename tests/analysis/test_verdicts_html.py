"""Comparisons in a notebook: complete, safe, and without anything that runs."""

from __future__ import annotations

import dataclasses
from html.parser import HTMLParser

from photometer.analysis.comparison_result import ComparisonFailure, ComparisonResult, EnvironmentComparison
from photometer.analysis.verdicts_html import MOST_ROWS
from tests.report.page.fake_results import comparison_records, verdict

HOSTILE = "</td><script>alert(1)</script>\x1b[31m\u202e"


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)


def results() -> tuple[ComparisonResult, ...]:
    return tuple(ComparisonResult.from_json(r) for r in comparison_records() if r["kind"] == "comparison")


def test_a_verdict_says_word_change_and_reason() -> None:
    text = verdict("slower", 1.05, 0.01, 2e-6, "slower by 5 %, surely.")._repr_html_()
    for said in (">slower<", "+5.0 %", "+4.0 % to +6.0 %", "+100 ns", "slower by 5 %, surely."):
        assert said in text, said


def test_a_comparison_shows_what_matters_first_and_says_how_much_it_leaves_out() -> None:
    text = EnvironmentComparison("main", "mine", "standard", results())._repr_html_()
    assert "mine against main" in text
    assert "3 slower, 2 undecided, 2 faster, 145 same" in text
    assert Tags(text).tags.count("tr") == MOST_ROWS + 1
    assert f"{152 - MOST_ROWS} more" in text
    assert text.index(">slower<") < text.index(">undecided<") < text.index(">faster<") < text.index(">same<")
    assert "nothing was compared" in EnvironmentComparison("a", "b", "s", ())._repr_html_()


def test_what_strangers_write_stays_text() -> None:
    [first, *_] = results()
    hostile = dataclasses.replace(
        first,
        title=HOSTILE,
        judged=dataclasses.replace(first.judged, reason=HOSTILE + '" onclick="x', notes=(HOSTILE,)),
    )
    failure = ComparisonFailure("1", HOSTILE, "base", HOSTILE)
    comparison = EnvironmentComparison(HOSTILE, HOSTILE, HOSTILE, (hostile,), (failure,), warnings=(HOSTILE,))
    for text in (comparison._repr_html_(), hostile.judged._repr_html_()):
        assert "script" not in Tags(text).tags
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert '" onclick' not in text
