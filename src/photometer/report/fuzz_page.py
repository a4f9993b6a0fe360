"""The map of a fuzz run as one HTML page that opens offline: findings, a scatter plot, every input, every failure.

In comes a FuzzMap; out comes the page's text. It is the page of `photometer report`, with the map alone on it.
"""

from __future__ import annotations

from collections.abc import Sequence

from photometer.analysis.fuzz_map import FuzzMap
from photometer.report.page.page import render_report
from photometer.report.page.view_fuzz import fuzz_view
from photometer.report.page.view_report import ReportView


def render_fuzz_page(found: FuzzMap, title: str = "Fuzzed inputs", notes: Sequence[str] = ()) -> str:
    """The whole document. `notes` stand below the findings: the fuzzer, the seed, the machine."""
    return render_report(ReportView(title, fuzz=(fuzz_view(found, notes),)))
