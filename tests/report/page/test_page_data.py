from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, strategies as st

from photometer.report.page.page_data import (
    DETAILS_IN_A_CHUNK,
    clean,
    packed_samples,
    page_data,
    tree_of_functions,
    tree_of_stacks,
)
from photometer.report.page.view_report import report_view
from tests.report.page.fake_results import comparison_records, loaded, many_records, run_records

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
