from __future__ import annotations

from pathlib import Path

import pytest

from photometer.errors import PhotometerError
from photometer.instruments import browser
from photometer.report.page.plot_files import write_plots
from photometer.report.page.view_report import report_view
from tests.report.page.fake_results import comparison_records, loaded, run_records


def test_without_a_browser_there_are_svgs_and_a_word_on_how_to_get_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser, "NAMES", ())
    monkeypatch.delenv(browser.VARIABLE, raising=False)
    written = write_plots(report_view([loaded(comparison_records())]), tmp_path / "new" / "plots")
    assert [path.name for path in written.paths] == ["forest.svg", "time-against-instructions.svg"]
    assert all(path.read_text().startswith("<svg ") for path in written.paths)
    assert "no Chromium or Chrome" in written.remark
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
