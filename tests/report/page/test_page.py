from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from photometer.errors import ResultsFileError
from photometer.model.measurement import Measurement
from photometer.model.records import to_record
from photometer.model.task import TaskSpec
from photometer.report.page.page import render_report, script_json
from photometer.report.page.view_report import ReportView, report_view
from tests.report.page.fake_results import comparison_records, fuzz_records, ladder_records, loaded, run_records

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&\x1b[31m\u202e\u2028 =cmd()"


class Elements(HTMLParser):
    """Every element with its attributes, and the text inside scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[tuple[dict[str, str | None], str]] = []
        self._open: tuple[str, dict[str, str | None]] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._open = (tag, dict(attrs))

    def handle_data(self, data: str) -> None:
        if self._open is not None and self._open[0] in ("script", "style"):
            self.inside.append((self._open[1], data))

    def handle_endtag(self, tag: str) -> None:
        self._open = None


def everything() -> ReportView:
    return report_view(
        [
            loaded(run_records(), "run.json", run={"suite": "standard"}),
            loaded(comparison_records(), "comparison.json", comparison={"suite": "standard"}),
            loaded(fuzz_records(), "fuzz.json", fuzz={"statements": ["f(x)", "g(x)"], "seed": 1}),
            loaded(ladder_records(), "ladder.json", run={"suite": "overrides"}),
        ]
    )


def test_nothing_comes_from_outside_and_only_its_own_script_and_style_are_allowed() -> None:
    elements = Elements(render_report(everything()))
    [policy] = [a["content"] or "" for tag, a in elements.found if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "http" not in policy
    active = [text for attributes, text in elements.inside if attributes.get("type") != "application/json"]
    assert len(active) == 2
    for text in active:
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy
    for tag, attributes in elements.found:
        assert tag not in ("link", "img", "iframe", "object", "base"), tag
        assert not {"src", "style"} & set(attributes), (tag, attributes)
        assert not any(name.startswith("on") for name in attributes)
        assert str(attributes.get("href", "#")).startswith("#")


def test_the_standard_suite_stays_far_under_the_limit() -> None:
    page = render_report(report_view([loaded(run_records(), run={"suite": "standard"})]))
    assert len(page.encode()) < 6_000_000 / 4


def test_the_page_says_what_matters_without_script() -> None:
    page = render_report(everything())
    for said in (
        "3 slower, 2 undecided, 2 faster, 145 same",
        "AMD EPYC 9R14",
        "Slower by 6.7 %",
        "signal 11",
        "IndexError",
    ):
        assert said in page, said
    assert "1 record of kind horoscope is not shown." in page


def hostile_records() -> list[dict[str, Any]]:
    spec = TaskSpec(HOSTILE, HOSTILE, label=HOSTILE, sub_label=HOSTILE, description=HOSTILE, env=HOSTILE)
    failure = {"kind": "failure", "message": HOSTILE, "log": HOSTILE, "type": HOSTILE, "task_spec": to_record(spec)}
    comparison = next(record for record in comparison_records() if record["kind"] == "comparison")
    comparison = {**comparison, "cause": HOSTILE, "order": {"label": [HOSTILE]}, "warnings": [HOSTILE]}
    comparison["verdict"] = {**comparison["verdict"], "reason": HOSTILE, "verdict": "slower", "notes": [HOSTILE]}
    measured = to_record(Measurement(1, [1e-6] * 8, spec))
    return [measured, failure, comparison, {"kind": HOSTILE}]


def test_hostile_text_stays_text() -> None:
    page = render_report(report_view([loaded(hostile_records(), HOSTILE.replace("/", "") + ".json", fuzz={})], HOSTILE))
    elements = Elements(page)
    assert "img" not in [tag for tag, _ in elements.found]
    assert sum(tag == "script" for tag, _ in elements.found) == 3
    for acting in ("\x1b", "\u202e", "\u2028"):
        assert acting not in page
    for attributes, text in elements.inside:
        if attributes.get("type") == "application/json":
            assert "\\u003c" in text or "<" not in text
            said = json.dumps(json.loads(text), ensure_ascii=False)
            assert "\u202e" not in said
            assert "\x1b" not in said


def test_json_in_a_script_cannot_end_it() -> None:
    value = {"a": "</script><!--&\u2028"}
    assert json.loads(script_json(value)) == value
    assert not re.search("[<>&\u2028]", script_json(value))


@pytest.mark.lengthy
def test_the_same_results_give_the_same_page() -> None:
    assert render_report(everything()) == render_report(everything())


def test_files_without_results_are_an_error_with_a_remedy() -> None:
    with pytest.raises(ResultsFileError, match=r"nothing to report in empty\.json") as caught:
        report_view([loaded([{"kind": "horoscope"}], "empty.json")])
    assert caught.value.remedy


@pytest.mark.lengthy
def test_benchmarks_of_several_files_have_distinct_ids() -> None:
    view = report_view([loaded(run_records(), "a.json"), loaded(run_records(), "b.json")])
    assert len({each.id for each in view.benchmarks}) == 2 * 166
    assert "a" in view.benchmarks[0].words
    twice = report_view([loaded(run_records(), "x/a.json"), loaded(run_records(), "x/a.json")])
    assert len({each.id for each in twice.benchmarks}) == 2 * 166


def test_titles() -> None:
    assert report_view([loaded(run_records(), run={"suite": "standard"})]).title == "Standard suite"
    assert report_view([loaded(fuzz_records(), fuzz={})]).title == "Fuzzed inputs"
    assert report_view([loaded(run_records(), "mine.json")]).title == "mine"
    names = ["git:merge-base:main (4076f851a1)", "faster-gate (b1f12aaa4f with changes)"]
    view = report_view(
        [loaded(comparison_records(), comparison={"suite": "standard", "project": "mynet", "names": names})]
    )
    assert view.title == "mynet: faster-gate against main"
    assert view.subjects[0] == "Suite standard: faster-gate (b1f12aaa4f with changes) against main (4076f851a1)"
    assert report_view([loaded(run_records())], "Given").title == "Given"


def test_a_comparison_in_which_nothing_is_slower_says_so() -> None:
    records = [r for r in comparison_records() if r["kind"] == "comparison" and r["verdict"]["verdict"] == "same"]
    page = render_report(report_view([loaded(records)]))
    assert "Nothing is slower" in page
    assert len(records) > 100
