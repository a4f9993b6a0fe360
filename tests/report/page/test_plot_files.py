"""Figures as files: each SVG stands alone and is whole, and a missing browser is no error."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from photometer.errors import PhotometerError
from photometer.instruments import browser
from photometer.report.page.figure import Axis, Figure, Point, PointFigure, Row, RowFigure, Series
from photometer.report.page.overview_figures import all_figures
from photometer.report.page.plot_files import figure_svg, write_plots
from photometer.report.page.view_report import report_view
from tests.report.page.fake_results import comparison_records, fuzz_records, ladder_records, loaded, run_records

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


def test_hostile_text_stays_text() -> None:
    row = Row(HOSTILE, 0.0, -0.01, 0.01, HOSTILE, note=HOSTILE)
    text = figure_svg(RowFigure("n", HOSTILE, Axis(HOSTILE, "change"), (row,)))
    root = ET.fromstring(text)
    assert not list(root.iter(f"{SPACE}script"))
    assert "onload" not in root.attrib
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_without_a_browser_there_are_svgs_and_a_word_on_how_to_get_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser, "NAMES", ())
    monkeypatch.delenv(browser.VARIABLE, raising=False)
    written = write_plots(report_view([loaded(comparison_records())]), tmp_path / "new" / "plots")
    assert [path.name for path in written.paths] == ["forest.svg", "time-against-instructions.svg"]
    assert all(path.read_text().startswith("<svg ") for path in written.paths)
    assert "needs Chromium or Chrome" in written.remark
    assert browser.VARIABLE in written.remark


def test_a_few_measurements_have_no_overview_figures_and_it_is_said(tmp_path: Path) -> None:
    written = write_plots(report_view([loaded(run_records()[:4])]), tmp_path / "plots")
    assert written.paths == ()
    assert "no figures" in written.remark


def test_a_browser_that_fails_or_a_folder_that_is_none_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = report_view([loaded(comparison_records())])
    monkeypatch.setenv(browser.VARIABLE, "false")
    with pytest.raises(PhotometerError, match="made no picture"):
        write_plots(view, tmp_path / "plots")
    svg = tmp_path / "a.svg"
    svg.write_text("<svg></svg>")
    with pytest.raises(PhotometerError, match="cannot be written to"):
        write_plots(report_view([loaded(comparison_records())]), svg)
