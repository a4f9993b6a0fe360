"""One browser for all tests of this folder, and the pages they look at. Screenshots stay in test-output/report/."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from photometer.report.page.page import render_report
from photometer.report.page.view_report import report_view
from tests.report.browser.chromium import Tab, chromium
from tests.report.page.fake_results import (
    comparison_records,
    fuzz_records,
    ladder_records,
    loaded,
    many_records,
    run_records,
)
from tests.report.page.test_page import HOSTILE, hostile_records

PICTURES = Path(__file__).parents[3] / "test-output" / "report"
SIDES = {"base": {"spec": "git:merge-base:main"}, "branch": {"spec": "git:WORKTREE"}, "suite": "standard"}
PAGES = {
    "run": lambda: [loaded(run_records(), run={"suite": "standard"})],
    "functions": lambda: [loaded(run_records(with_stacks=False), run={"suite": "standard"})],
    "comparison": lambda: [loaded(comparison_records(), comparison=SIDES)],
    "fuzz": lambda: [loaded(fuzz_records(), fuzz={"statements": ["x.t().sum(0)", "x.sum(1)"], "seed": 7})],
    "ladder": lambda: [loaded(ladder_records(), run={"suite": "overrides"})],
    "hostile": lambda: [loaded(hostile_records(), HOSTILE.replace("/", "") + ".json")],
    "many": lambda: [loaded(many_records(10_000, 20))],
}


@pytest.fixture(scope="session")
def browser() -> Iterator[Tab]:
    with chromium() as tab:
        yield tab


@pytest.fixture
def tab(browser: Tab) -> Iterator[Tab]:
    """The browser, listening anew; whatever a page complained about fails the test."""
    browser.problems.clear()
    browser.requests.clear()
    browser.look()
    yield browser
    browser.settle()
    assert browser.problems == []
    assert all(address.startswith(("file:", "about:")) for address in browser.requests), browser.requests


@pytest.fixture(scope="session")
def page_of(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    """A page by its name, made when it is first asked for."""
    folder = tmp_path_factory.mktemp("pages")

    def made(name: str) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            path.write_text(render_report(report_view(PAGES[name]())), encoding="utf-8")
        return path

    return made
