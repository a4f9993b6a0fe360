"""`photometer report FILE… [-o FILE]`: results files as one HTML page that opens offline, and its plots as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.output_options import folder_option
from photometer.cli.printing import complain, show_text
from photometer.model.results_folder import check_results_folder, make_results_folder

if TYPE_CHECKING:
    from photometer.model.results_reader import Results


def register(app: typer.Typer) -> None:
    app.command("report", help="Make one HTML page of results files; it opens offline.")(report)


def report(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Results files, or folders that contain one.")],
    output: Annotated[
        Path | None, folder_option("Folder for the page, report.html (default: that of the first file).")
    ] = None,
    plots: Annotated[
        Path | None, typer.Option("--plots", metavar="DIR", help="Folder for the figures as SVG and PNG.")
    ] = None,
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="Title of the page (default: from the files).")
    ] = None,
    recover: Annotated[bool, typer.Option("--recover", help="Use the intact records of a damaged file.")] = False,
) -> None:
    from photometer.model.results_reader import load_results
    from photometer.model.visit import with_unfinished
    from photometer.model.whole_file import write_text_whole
    from photometer.report.page.page import render_report
    from photometer.report.page.view_report import report_view

    paths = [_results_file(path) for path in files]
    loaded = [with_unfinished(load_results(path, recover)) for path in paths]
    page = (paths[0].parent if output is None else output) / "report.html"
    if output is not None:
        check_results_folder(output)
        make_results_folder(output)
    if _has_many_sides(loaded, page):
        return
    view = report_view(loaded, title)
    write_text_whole(page, render_report(view))
    show_text(f"{page}: {view.headline or 'written.'}")
    if plots is not None:
        from photometer.report.page.plot_files import write_plots

        written = write_plots(view, plots)
        for path in written.paths:
            show_text(str(path))
        if written.remark:
            complain(written.remark)


def _has_many_sides(loaded: list[Results], page: Path) -> bool:
    """Write the page of a comparison of many sides. Return False if the file has none."""
    from photometer.analysis.comparison_reader import read_comparison
    from photometer.model.whole_file import write_text_whole
    from photometer.report.comparison_text import headline
    from photometer.report.matrix_page import render_matrix_page

    comparison = read_comparison(loaded[0]) if len(loaded) == 1 else None
    if comparison is None or not comparison.has_many_sides:
        return False
    machine = loaded[0].machine
    write_text_whole(page, render_matrix_page(comparison, "" if machine is None else machine.summary()))
    show_text(f"{page}: {headline(comparison)}")
    return True


def _results_file(path: Path) -> Path:
    """Return the results file: a folder that `run` or `compare` wrote stands for the one in it."""
    if not path.is_dir():
        return path
    for name in ("results.json", "comparison.json", "matrix.json"):
        if (path / name).is_file():
            return path / name
    return path
