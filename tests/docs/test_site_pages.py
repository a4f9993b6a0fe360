"""Every table of figures on the site says which script it is from, and of which day."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.guards.sources import none_of

ROOT = Path(__file__).parents[2]


@pytest.fixture
def site_pages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "scripts" / "site_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tables_of_figures_name_script_and_day(site_pages: ModuleType) -> None:
    lines = []
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = site_pages.on_page_markdown(page.read_text())
        assert not site_pages.SOURCE_OF_TABLE.search(text)
        lines += re.findall(r"^\*((?:Measured|Printed) by .*)\*$", text, re.MULTILINE)
    assert len(lines) > 20
    none_of(line for line in lines if not re.search(r"20\d\d-\d\d-\d\d|docs/figures/", line))


def test_a_table_without_figures_stays_as_it_is(site_pages: ModuleType) -> None:
    text = "<!-- no measurement: setting -->\n| a |\n| --- |\n"
    assert site_pages.on_page_markdown(text) == text
    said = site_pages.on_page_markdown("<!-- measured: benchmarks/x.py, 2026-01-02 -->\n| a |\n")
    assert said == "*Measured by `benchmarks/x.py`, 2026-01-02.*\n\n| a |\n"
