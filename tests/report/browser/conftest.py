"""One browser for all tests of this folder, and the pages they look at. Screenshots stay in test-output/report/."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from photometer.model.results_reader import load_results
from photometer.report.page.page import render_report
from photometer.report.page.view_report import report_view
from tests.report.browser.tab import Tab, browser as browser, new_tab
from tests.report.page.fake_results import (
    comparison_records,
    fuzz_records,
    ladder_records,
    loaded,
    many_records,
    run_records,
)
from tests.report.page.test_page import HOSTILE, hostile_records
from tests.report.page.test_view_figures import records as sweep_records

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Pages = Callable[[str], Path]
PHONE_WIDTH = 390
PICTURES = Path(__file__).parents[3] / "test-output" / "report"
SIDES = {"base": {"spec": "git:merge-base:main"}, "branch": {"spec": "git:WORKTREE"}, "suite": "standard"}
PAGES = {
    "run": lambda: [loaded(run_records(), run={"suite": "standard"})],
    "functions": lambda: [loaded(run_records(with_stacks=False), run={"suite": "standard"})],
    "comparison": lambda: [loaded(comparison_records(), comparison=SIDES)],
    "fuzz": lambda: [loaded(fuzz_records(), fuzz={"statements": ["x.t().sum(0)", "x.sum(1)"], "seed": 7})],
    "ladder": lambda: [loaded(ladder_records(), run={"suite": "overrides"})],
    "hostile": lambda: [loaded(hostile_records(), HOSTILE.replace("/", "") + ".json")],
    "sweep": lambda: [loaded(sweep_records("a step of training"), run={"suite": "sweeps"})],
    # A real run on an H200, by benchmarks/device_session.py.
    "device": lambda: [load_results(Path(__file__).with_name("h200.json"))],
    "many": lambda: [loaded(many_records(10_000, 20))],
}


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    """A new tab; whatever its page complained about fails the test."""
    with new_tab(browser) as opened:
        yield opened
        opened.expect_no_problems()


@pytest.fixture
def phone(browser: Browser) -> Iterator[Tab]:
    """The same with a phone's small screen."""
    with new_tab(browser, PHONE_WIDTH, 844, phone=True) as opened:
        yield opened
        opened.expect_no_problems()


@pytest.fixture(scope="session")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    """A page by its name, made when it is first asked for."""
    folder = tmp_path_factory.mktemp("pages")

    def made(name: str) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            path.write_text(render_report(report_view(PAGES[name]())), encoding="utf-8")
        return path

    return made
