"""Curves and the roofline in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.report.browser.conftest import PICTURES, Pages
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


def test_the_roofline_is_there_with_its_note(tab: Tab, page_of: Pages) -> None:
    tab.open(page_of("sweep"))
    expect(tab.find("text=Roofline")).to_be_visible()
    expect(tab.find("text=Below the slope")).to_be_visible()
