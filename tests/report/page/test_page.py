from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, strategies as st

from photometer.errors import ResultsFileError
from photometer.model.measurement import Measurement
from photometer.model.records import to_record
from photometer.model.task import TaskSpec
from photometer.report.page.page import (
    DETAILS_IN_A_CHUNK,
    clean,
    packed_samples,
    page_data,
    render_report,
    script_json,
    tree_of_functions,
    tree_of_stacks,
)
from photometer.report.page.view_report import ReportView, report_view
from tests.report.page.fake_results import (
    comparison_records,
    fuzz_records,
    ladder_records,
    loaded,
    many_records,
    run_records,
)

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


BASE = [(("main", "f"), 100), (("main", "g"), 50), (("main",), 10)]
BRANCH = [(("main", "f"), 100), (("main", "g"), 90), (("main",), 10)]


@given(st.lists(st.floats(1e-9, 10.0), min_size=1, max_size=50))
def test_packed_samples_are_right_to_a_pixel(samples: list[float]) -> None:
    packed = packed_samples(samples)
    middle = sorted(samples)[len(samples) // 2]
    for value, whole in zip(samples, packed["values"], strict=True):
        assert whole * packed["scale"] == pytest.approx(value, abs=middle * 1e-4)


def test_packed_samples_of_nothing_and_of_zero() -> None:
    assert packed_samples([])["values"] == []
    assert packed_samples([0.0, 0.0])["values"] == [0, 0]


def test_clean_reaches_every_string_and_number() -> None:
    dirty = {"a\u202e": ["\x1b[31m", {"b": ("x\u2028y", math.inf, math.nan, 1.5)}]}
    assert clean(dirty) == {"a\\u202e": ["\\x1b[31m", {"b": ["x\\u2028y", None, None, 1.5]}]}


def test_every_row_leads_to_its_own_detail() -> None:
    view = report_view([loaded(run_records())])
    data = page_data(view, [])
    assert len(data.chunks) == math.ceil(len(view.benchmarks) / DETAILS_IN_A_CHUNK)
    sides = {side["id"]: side for row in data.light["run"]["rows"] for side in row["sides"].values()}
    assert len(sides) == len(view.benchmarks)
    for benchmark in view.benchmarks:
        side = sides[benchmark.id]
        detail = data.chunks[side["chunk"]]["details"][side["place"]]
        assert detail["code"]["stmt"] == benchmark.code.stmt
    json.dumps([data.light, data.chunks], allow_nan=False)


def test_python_and_cpp_of_one_benchmark_are_one_row() -> None:
    rows = page_data(report_view([loaded(run_records())]), []).light["run"]["rows"]
    assert len(rows) == 84
    both = [row for row in rows if len(row["sides"]) == 2]
    assert len(both) == 82
    assert list(both[0]["sides"]) == ["python", "cpp"]
    assert {"python", "cpp"} <= set(both[0]["words"])


def test_run_and_comparison_on_one_page_do_not_share_details() -> None:
    view = report_view([loaded(run_records(), "a.json"), loaded(comparison_records(), "b.json")])
    data = page_data(view, [])
    rows = [*data.light["comparison"]["rows"], *data.light["run"]["rows"]]
    assert len({(row["chunk"], row["place"]) for row in rows}) == len(rows)
    assert len({row["id"] for row in rows}) == len(rows)


def test_functions_are_named_once_in_a_chunk() -> None:
    chunk = page_data(report_view([loaded(run_records())]), []).chunks[0]
    assert len(chunk["names"]) == len(set(chunk["names"])) < 30


@pytest.mark.lengthy
def test_ten_thousand_benchmarks_keep_the_light_part_light() -> None:
    data = page_data(report_view([loaded(many_records(2000, 150))]), [])
    assert len(json.dumps(data.light)) / 2000 < 500
    assert all(len(detail["time"]["samples"]["values"]) == 150 for detail in data.chunks[0]["details"])


def test_a_tree_adds_up_from_the_leaves() -> None:
    tree = tree_of_stacks(BASE)
    assert tree is not None
    main = tree.children["main"]
    assert (tree.base, main.base, main.children["f"].base) == (160, 160, 100)
    assert list(main.children) == ["f", "g"]


def test_two_sides_point_at_the_function_that_changed_and_not_at_its_callers() -> None:
    tree = tree_of_stacks(BASE, BRANCH)
    assert tree is not None
    main = tree.children["main"]
    assert (main.base, main.branch, main.own_change) == (160, 200, 0)
    assert main.children["g"].own_change == 40
    assert main.children["f"].own_change == 0


def test_what_is_too_thin_to_see_is_left_out_and_its_caller_keeps_its_width() -> None:
    tree = tree_of_stacks([(("main", "big"), 100_000), (("main", "tiny"), 1)])
    assert tree is not None
    assert list(tree.children["main"].children) == ["big"]
    assert tree.base == 100_001


def test_functions_without_stacks_are_shown_below_their_library() -> None:
    tree = tree_of_functions([(70, "a.c:f [/usr/lib/libc.so.6]"), (20, "b.c:g [libtorch.so]"), (5, "h"), (-3, "i [x]")])
    assert tree is not None
    assert {name: frame.base for name, frame in tree.children.items()} == {
        "libc.so.6": 70,
        "libtorch.so": 20,
        "other": 5,
    }
    assert list(tree.children["libc.so.6"].children) == ["a.c:f"]


def test_functions_that_were_not_kept_have_a_frame_together() -> None:
    tree = tree_of_functions([(70, "f [a.so]")], total=100)
    assert tree is not None
    assert (tree.base, tree.children["all other functions"].base) == (100, 30)


def test_nothing_to_draw_is_none() -> None:
    assert tree_of_stacks([]) is None
    assert tree_of_functions([]) is None


def test_a_deep_recursion_is_no_problem() -> None:
    assert tree_of_stacks([(tuple(f"f{i}" for i in range(500)), 10)]) is not None
