"""The figures of a report as files: SVG written by us, and PNG beside each where a browser can draw it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from photometer.errors import PhotometerError, ToolMissing
from photometer.instruments.browser import find_browser, render_png
from photometer.report.page.figure_svg import figure_svg
from photometer.report.page.page import all_figures
from photometer.report.page.view_report import ReportView

NO_FIGURES = "These results have no figures: there are figures of comparisons, fuzz runs, ladders and runs of a suite."

# Sharp on today's screens and in print.
PIXELS_PER_UNIT = 2


@dataclasses.dataclass(frozen=True)
class PlotFiles:
    """What was written, and why something was not."""

    paths: tuple[Path, ...]
    remark: str = ""


def write_plots(view: ReportView, folder: Path) -> PlotFiles:
    """One SVG a figure, named after it. Without a browser there are no PNGs, and the remark says how to get them."""
    figures = all_figures(view)
    if not figures:
        return PlotFiles((), NO_FIGURES)
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in figures.items():
            path = folder / f"{name}.svg"
            path.write_text(figure_svg(figure), encoding="utf-8")
            written.append(path)
    except OSError as error:
        raise PhotometerError(
            f"{folder}: cannot be written to: {error.strerror or error}", remedy="Name another folder."
        ) from error
    try:
        browser = find_browser()
    except ToolMissing as error:
        return PlotFiles(tuple(written), f"No PNG files: {error.message}. {error.remedy}")
    for path in tuple(written):
        render_png(path, path.with_suffix(".png"), pixels_per_unit=PIXELS_PER_UNIT, browser=browser)
        written.append(path.with_suffix(".png"))
    return PlotFiles(tuple(sorted(written)))
