from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from photometer.report.page.figure import Axis, Figure, Point, PointFigure, Row, RowFigure, Series
from photometer.report.page.figure_svg import figure_svg
from photometer.report.page.overview_figures import forest, reach_of
from photometer.report.page.page import all_figures
from photometer.report.page.records_of_comparison import comparison_views
from photometer.report.page.view_report import report_view
from tests.report.page.fake_results import comparison_records, fuzz_records, ladder_records, loaded

HOSTILE = "</svg><script>alert(1)</script>\x1b[31m\u202e\" onload='x"
SPACE = "{http://www.w3.org/2000/svg}"


def figures() -> list[Figure]:
    files = [
        loaded(comparison_records(), comparison={"suite": "standard"}),
        loaded(fuzz_records(), fuzz={"statements": ["f(x)", "g(x)"]}),
        loaded(ladder_records(), run={"suite": "overrides"}),
    ]
    return [figure for file in files for figure in all_figures(report_view([file])).values()]


@pytest.mark.parametrize("figure", figures(), ids=lambda figure: figure.name)
def test_every_mark_lies_inside_and_every_number_is_one(figure: Figure) -> None:
    text = figure_svg(figure)
    root = ET.fromstring(text)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert "nan" not in text.lower()
    assert not re.findall(r"(?:href|src)=", text)
    for circle in root.iter(f"{SPACE}circle"):
        assert 0 <= float(circle.attrib["cx"]) <= width
        assert 0 <= float(circle.attrib["cy"]) <= height
    words = [text.text for text in root.iter(f"{SPACE}text")]
    assert figure.title in words
    assert len(words) > 5


def test_marks_are_as_many_as_points() -> None:
    points = tuple(Point(float(i + 1), 1.0, f"p{i}") for i in range(7))
    axis = Axis("x", "number", "log")
    text = figure_svg(PointFigure("n", "t", axis, axis, (Series("s", "base", "diamond", points),), (), (1.0,)))
    # One more in the legend.
    assert len(list(ET.fromstring(text).iter(f"{SPACE}polygon"))) == 8


def test_an_interval_of_unknown_end_reaches_the_edge() -> None:
    row = Row("r", 0.0, None, None, "undecided")
    text = figure_svg(RowFigure("n", "t", Axis("x", "change"), (row,), (0.0,), (-0.1, 0.1)))
    spans = [line for line in ET.fromstring(text).iter(f"{SPACE}line") if line.attrib["stroke-width"] == "1.6"]
    assert len(spans) == 1
    assert float(spans[0].attrib["x2"]) - float(spans[0].attrib["x1"]) > 300


def test_what_strangers_write_stays_text() -> None:
    row = Row(HOSTILE, 0.0, -0.01, 0.01, HOSTILE, note=HOSTILE)
    text = figure_svg(RowFigure("n", HOSTILE, Axis(HOSTILE, "change"), (row,)))
    root = ET.fromstring(text)
    assert not list(root.iter(f"{SPACE}script"))
    assert "onload" not in root.attrib
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_the_forest_keeps_what_matters_where_there_are_too_many() -> None:
    views = comparison_views(comparison_records())
    figure = forest(views)
    assert len(figure.rows) == 60
    assert [row.style for row in figure.rows[:3]] == ["slower"] * 3
    assert "60" in figure.title
    assert "152" in figure.title
    assert "cpp" in figure.rows[0].label


def test_one_outlier_does_not_press_the_others_together() -> None:
    views = comparison_views(comparison_records())
    assert 0.067 <= reach_of(views) <= 0.1
    import dataclasses

    wild = dataclasses.replace(views[0], ratio=40.0, interval=(39.0, 41.0))
    assert reach_of([wild, *views[1:]]) < 0.5
    assert reach_of([view for view in views if view.verdict == "same"]) == 0.02
