"""The system's Chromium, driven by Playwright: a tab that shows one of our files and notes what the file does.

Playwright brings no browser of its own here. Its `wait_for_function` evaluates text inside the page, which the pages'
own policy forbids, so tests wait for elements (`expect`, `wait_for`) instead.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Locator, Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Generous: two cores are shared with other tests, and only a browser that hangs should fail.
PATIENCE_MILLISECONDS = 60_000


class Tab:
    """One page. `problems` are console errors, exceptions and broken policies; `requests` are addresses asked for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        self.requests: list[str] = []
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self.problems.append(message.text)

    def open(self, path: Path, fragment: str = "") -> None:
        """Load a file and wait until its script says that it is done."""
        # The blank page first: a change of the fragment alone would not load the page anew.
        self.page.goto("about:blank")
        self.page.goto(path.resolve().as_uri() + fragment)
        self.page.locator(":root[data-ready]").wait_for(state="attached")

    def find(self, selector: str, **having: Any) -> Locator:
        """Return what matches a CSS selector; `has_text` and the like narrow it down."""
        return self.page.locator(selector, **having)

    def run(self, expression: str) -> Any:
        """Return the value of a JavaScript expression; a promise is waited for."""
        return self.page.evaluate(expression)

    def settle(self) -> None:
        """Wait two frames: what was asked for is drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def expect_no_problems(self, *also_asked: str) -> None:
        """Fail if the page complained, or asked for anything but files and addresses that begin with one of these."""
        self.settle()
        assert self.problems == []
        assert all(address.startswith(("file:", "about:", *also_asked)) for address in self.requests), self.requests

    def picture(self, path: Path) -> Path:
        """Write what the window shows as a PNG."""
        self.settle()
        # Hiding the caret and stopping animations would add styles, which the page's policy forbids.
        self.page.screenshot(path=path, caret="initial", animations="allow")
        return path


def browser_program() -> str:
    for name in BROWSERS:
        found = shutil.which(name)
        if found:
            return found
    pytest.skip("no Chromium")


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Start a browser with an empty profile, and end it at the end."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MILLISECONDS)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_program(),
            # Chromium's sandbox does not start for root, as in most containers; what is shown are our own files.
            args=["--no-sandbox", "--disable-gpu"],
            # Or it would leave folders of its own behind.
            env={**os.environ, "TMPDIR": folder},
            timeout=PATIENCE_MILLISECONDS,
        )
        try:
            yield browser
        finally:
            browser.close()


# Not for the whole session: while Playwright runs, tests of other folders in the same process could not use asyncio.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One browser for all tests of the folder whose conftest.py imports this."""
    with chromium() as started:
        yield started


@contextlib.contextmanager
def new_tab(
    browser: Browser, width: int = 1180, height: int = 900, *, dark: bool = False, phone: bool = False
) -> Iterator[Tab]:
    """Open an empty tab with a window of this size, without cookies or storage of another one."""
    with browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        device_scale_factor=2 if phone else 1,
        is_mobile=phone,
    ) as context:
        context.set_default_timeout(PATIENCE_MILLISECONDS)
        yield Tab(context.new_page())
