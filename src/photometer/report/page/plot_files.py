"""The figures of a report as files: SVG written by us, and PNG beside each where a browser can draw it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from photometer.errors import PhotometerError, ToolMissing
from photometer.report.page.browser_picture import find_browser, svg_to_png
from photometer.report.page.figure_svg import figure_svg
from photometer.report.page.page import all_figures
from photometer.report.page.view_report import ReportView

NO_FIGURES = "These results have no figures: there are figures of comparisons, fuzz runs, ladders and runs of a suite."


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
    browser = find_browser()
    for path in tuple(written):
        try:
            svg_to_png(path, path.with_suffix(".png"), browser)
        except ToolMissing as error:
            return PlotFiles(tuple(written), f"No PNG files: {error.message}. {error.remedy}")
        written.append(path.with_suffix(".png"))
    return PlotFiles(tuple(sorted(written)))
