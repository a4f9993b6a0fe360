"""A store with a made-up history, its site published once, and one browser for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from photometer.history.site.index_data import SiteOptions
from photometer.history.site.site_files import Published, publish_site
from photometer.history.store import Store, open_store
from tests.history.site.made_history import MACHINES, fill_store, some_benchmarks
from tests.report.browser.tab import Tab, browser as browser, new_tab

if TYPE_CHECKING:
    from playwright.sync_api import Browser

COMMITS = 40
OPTIONS = SiteOptions("A made-up history", "https://forge.example/torch/commit/{sha}")
PICTURES = Path(__file__).parents[3] / "test-output" / "history"


@pytest.fixture(scope="package")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Forty commits on two machines; nobody writes to it."""
    with open_store(tmp_path_factory.mktemp("history") / "history.sqlite", create=True) as made:
        fill_store(made, some_benchmarks(COMMITS), COMMITS, machines=MACHINES)
        yield made


@pytest.fixture(scope="package")
def published(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Published:
    return publish_site(store, tmp_path_factory.mktemp("site"), OPTIONS, 1_790_000_000)


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    """A new tab; whatever its page complained about fails the test."""
    with new_tab(browser) as opened:
        yield opened
        opened.expect_no_problems("http://127.0.0.1:")
