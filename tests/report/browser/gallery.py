"""The pictures of docs/gallery.md.

    python -m tests.report.browser.gallery [--run FILE] [--comparison FILE] [--fuzz FILE] [--ladder FILE] [--sweep FILE]

`scripts/gallery` makes real results and gives them all. Without a file they are those that the tests make by code.
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
from pathlib import Path

from playwright.sync_api import Browser

from photometer.model.results_reader import Results, load_results
from photometer.report.page.page import render_report
from photometer.report.page.view_report import report_view
from tests.report.browser.conftest import PAGES, PHONE_WIDTH
from tests.report.browser.tab import chromium, new_tab

IMAGES = Path(__file__).parents[3] / "docs" / "images"
FIRST = "document.querySelector('tr.line').click()"
TO_FIRST = f"{FIRST}; document.querySelector('tr.line').scrollIntoView()"
MOST_BYTES = 300_000
NAMES = ("run", "comparison", "fuzz", "ladder", "sweep", "device")


def take(
    browser: Browser, page: Path, name: str, height: int, script: str = "", *, dark: bool = False, phone: bool = False
) -> None:
    with new_tab(browser, PHONE_WIDTH if phone else 1100, height, dark=dark, phone=phone) as tab:
        tab.open(page)
        if script:
            tab.run(script)
            tab.settle()
        path = tab.picture(IMAGES / f"{name}.png")
        size = path.stat().st_size
        assert size < MOST_BYTES, f"{path} has {size:,} bytes"
        assert tab.problems == []


def _usual(results: Results) -> Results:
    """Without the record of an unknown kind, which is there for a test."""
    return dataclasses.replace(results, records=tuple(r for r in results.records if r["kind"] != "horoscope"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in NAMES:
        parser.add_argument(f"--{name}", type=Path, help="a results file")
    given = vars(parser.parse_args())
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        pages = {}
        for name in NAMES:
            files = [load_results(given[name])] if given.get(name) else [_usual(file) for file in PAGES[name]()]
            pages[name] = Path(folder) / f"{name}.html"
            pages[name].write_text(render_report(report_view(files)), encoding="utf-8")
        take(browser, pages["comparison"], "report-comparison", 900)
        take(browser, pages["comparison"], "report-slower", 1160, TO_FIRST, dark=True)
        take(browser, pages["run"], "report-run", 860)
        take(browser, pages["run"], "report-benchmark", 900, TO_FIRST)
        take(browser, pages["fuzz"], "report-fuzz", 900)
        take(browser, pages["ladder"], "report-ladder", 720)
        take(browser, pages["sweep"], "report-sweep", 1320)
        take(browser, pages["device"], "report-h200", 1330)
        take(browser, pages["comparison"], "report-phone", 844, phone=True)


if __name__ == "__main__":
    main()
