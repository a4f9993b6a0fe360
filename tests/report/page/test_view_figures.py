"""Curves, rooflines and tables of a run on the page, and the curves as files."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

from photometer.model.records import to_record
from photometer.report.page.figure import LineFigure
from photometer.report.page.overview_figures import all_figures
from photometer.report.page.page import render_report
from photometer.report.page.plot_files import figure_svg
from photometer.report.page.view_figures import figures_view, joined_figures
from photometer.report.page.view_report import report_view
from tests.analysis.order_records import PEAK, curve, metered, order, phased, timed, worked
from tests.report.page.fake_results import loaded
from tests.report.table_texts import texts

HOSTILE = "</script><b onclick='x'>\u202e"
SPACE = "{http://www.w3.org/2000/svg}"


def records(step_label: str = HOSTILE) -> list[dict[str, Any]]:
    sizes = (16, 64, 256, 1024)
    swept = curve("pairwise", {n: 3e-6 + 2e-10 * n**2 for n in sizes})
    swept += curve("pairwise", {n: 8e-6 + 5e-11 * n**2 for n in sizes}, runtime="compiled")
    swept += [worked(order("pairwise", {"n": n}), 2.0 * n**2, 12.0 * n, dtype="float32") for n in sizes]
    step = order(step_label)
    step_records = [timed(step, 1e-3), phased(step, forward=4e-4, backward=6e-4), metered(step, loss=(2.3, 2.1))]
    return [*swept, *step_records, to_record(PEAK)]


def test_a_sweep_is_a_figure_with_a_line_per_variant_and_its_sentences() -> None:
    (figure,) = figures_view(records()).curves
    assert [series.name for series in figure.series] == ["eager", "compiled"]
    assert len({series.style for series in figure.series}) == 2
    assert (figure.x.label, figure.x.scale, figure.y.scale) == ("n", "log", "log")
    assert all(point.low is not None and point.low < point.y < (point.high or 0.0) for point in figure.series[0].points)
    assert all(point.id.startswith("b-") for point in figure.series[0].points)
    assert any(note.startswith("compiled is faster than eager from n =") for note in figure.notes)


def test_a_wide_interval_is_drawn_as_far_as_there_is_room_and_never_to_zero() -> None:
    wild = [timed(order("a", {"n": n}), 1e-6 * n, spread=0.499) for n in (1, 10, 100)]
    (figure,) = figures_view(wild).curves
    assert figure.y.scale == "log"
    assert all(0 < (point.low or 0.0) < point.y for point in figure.series[0].points)
    assert all((point.high or 0.0) <= 300.1e-6 for point in figure.series[0].points)
    assert figure.x.ticks == (1.0, 10.0, 100.0)


def test_the_roofline_has_a_roof_and_the_points_below_it() -> None:
    (figure,) = figures_view(records()).rooflines
    roof, points = figure.series
    assert (roof.marked, points.joined) == (False, False)
    slope, ridge, flat = roof.points
    assert ridge.y == flat.y == PEAK.flops_per_second / 1e9
    assert slope.y / slope.x == PEAK.bytes_per_second / 1e9
    # Eager and compiled share the work.
    assert len(points.points) == 8


def test_tables_of_rates_phases_and_metrics() -> None:
    tables = {table.title: table for table in figures_view(records()).tables}
    assert set(tables) == {"Rates", "Phases of a step", "Metrics"}
    assert texts(tables["Phases of a step"])[0][1:] == ["400 µs  40 %", "600 µs  60 %", "1.00 ms"]
    assert texts(tables["Metrics"])[0][1:] == ["2.3 to 2.1"]


def test_figures_of_several_files_have_names_of_their_own() -> None:
    view = figures_view(records())
    assert [each.name for each in joined_figures([view, view]).curves] == ["curve-1", "curve-2"]


def test_the_page_shows_them_and_escapes_what_users_wrote() -> None:
    page = render_report(report_view([loaded(records(), run={"suite": "s"})]))
    assert "Over sizes" in page
    assert "Roofline" in page
    assert "Phases of a step" in page
    assert HOSTILE not in page
    assert "<b onclick" not in page
    assert "are not shown" not in page


def test_a_run_without_sizes_has_none_of_it() -> None:
    page = render_report(report_view([loaded([timed(order(), 1e-6)], run={"suite": "s"})]))
    assert "Over sizes" not in page
    assert "Rates" not in page


def test_lines_are_drawn_inside_the_file() -> None:
    figures = all_figures(report_view([loaded(records(), run={"suite": "s"})]))
    drawn = {name: figure for name, figure in figures.items() if isinstance(figure, LineFigure)}
    assert set(drawn) == {"curve-1", "roofline-1"}
    for figure in drawn.values():
        root = ET.fromstring(figure_svg(figure))
        assert len(list(root.iter(f"{SPACE}polyline"))) == sum(series.joined for series in figure.series)
        places = [p.split(",") for line in root.iter(f"{SPACE}polyline") for p in line.attrib["points"].split()]
        assert all(0 <= float(x) <= 860 and 0 <= float(y) <= 460 for x, y in places)
