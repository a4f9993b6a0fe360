"""Curves and the roofline in a real browser."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from playwright.sync_api import expect

from photometer.report.page.page import render_report
from photometer.report.page.view_report import report_view
from tests.report.browser.conftest import PAGES, PICTURES, Pages
from tests.report.browser.tab import Tab

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_line_per_variant_with_marks_that_open_the_benchmark(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("sweep"))
    tab.picture(PICTURES / "sweep.png")
    expect(tab.find(".curves .figure .curve")).to_have_count(2)
    expect(tab.find(".curves .legend span")).to_have_count(2)
    expect(tab.find(".curves .figure .mark")).to_have_count(8)
    expect(tab.find(".curves .figure .reach")).to_have_count(8)
    expect(tab.find("text=Compiled is faster than eager from")).to_be_visible()
    tab.find(".curves .figure .mark").first.click()
    expect(tab.find(".detail-body").first).to_be_visible()


def test_a_doubtful_time_is_hollow_in_its_curve(tab: Tab, tmp_path: Path) -> None:
    view = report_view(PAGES["sweep"]())
    first, *others = view.benchmarks
    marked = (dataclasses.replace(first, is_doubtful=True), *others)
    page = tmp_path / "doubtful.html"
    page.write_text(render_report(dataclasses.replace(view, benchmarks=marked)), encoding="utf-8")
    tab.open(page)
    expect(tab.find(".curves .figure .mark.doubtful")).to_have_count(1)
    expect(tab.find(".curves .legend")).to_contain_text("doubtful")
    expect(tab.find("#show-doubtful")).to_have_text("1 doubtful")


def test_the_roofline_is_there_with_its_note(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("sweep"))
    expect(tab.find("text=Roofline")).to_be_visible()
    expect(tab.find("text=Below the slope")).to_be_visible()
