"""How large the report page is and how long a browser takes to open it, beside the same page with plotly inside.

    python -m benchmarks.report_page

Needs Chromium and playwright. The results are made by code: 166 of the standard suite's benchmarks, 180 blocks
with call stacks, a comparison of it, and 10,000 benchmarks of 150 blocks. "Opened" is from the start of the navigation
to the moment the table stands and the script is done, the median of five loads from disk.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from tests.report.browser.tab import Tab, chromium, new_tab
from tests.report.page.fake_results import comparison_records, loaded, many_records, run_records

from photometer.report.page.page import render_report
from photometer.report.page.view_report import report_view

LOADS = 5


def with_plotly(page: str) -> str:
    """What the page would be if plotly's whole bundle, the only one in its wheel, lay in it. The policy must go."""
    from plotly.offline import get_plotlyjs

    open_policy = page.replace("Content-Security-Policy", "Was-Policy")
    return open_policy.replace("<script>", f"<script>{get_plotlyjs()}</script>\n<script>", 1)


def opened_milliseconds(tab: Tab, path: Path) -> float:
    times = []
    for _ in range(LOADS):
        tab.open(path)
        times.append(float(tab.run("document.documentElement.dataset.ready")))
    return statistics.median(times)


def main() -> None:
    standard = render_report(report_view([loaded(run_records(), run={"suite": "standard"})]))
    pages = {
        "standard suite": standard,
        "standard suite, with plotly": with_plotly(standard),
        "comparison of it": render_report(report_view([loaded(comparison_records())])),
        "10,000 benchmarks": render_report(report_view([loaded(many_records(10_000))])),
    }
    print(f"{'page':<30}{'MB':>8}{'opened, ms':>14}")
    with tempfile.TemporaryDirectory() as folder, chromium() as browser, new_tab(browser) as tab:
        for name, text in pages.items():
            path = Path(folder) / f"{name.replace(' ', '-').replace(',', '')}.html"
            path.write_text(text, encoding="utf-8")
            print(f"{name:<30}{len(text.encode()) / 1e6:>8.2f}{opened_milliseconds(tab, path):>14.0f}")


if __name__ == "__main__":
    main()
