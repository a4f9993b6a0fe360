"""`photometer compare A B C … --suite S` and `--matrix`: many sides at once, the first being the reference."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from photometer.cli.printing import say_aside, show_rendered
from photometer.model.records import to_record

if TYPE_CHECKING:
    from photometer.analysis.matrix_result import MatrixComparison
    from photometer.comparing.many_environments import ManySidesRequest

FILE_NAME = "matrix.json"
PAGE_NAME = "report.html"
MARKDOWN_NAME = "comparison.md"


def sides_of(sides: list[str], matrices: list[str]) -> list[str]:
    """Return the sides as typed, or those of the matrices with the one side that they have in common."""
    if not matrices:
        return sides
    from photometer.comparing.matrix_sides import matrix_sides

    if len(sides) > 1:
        raise typer.BadParameter("--matrix names the sides; give at most one BASE, which is then part of all of them")
    return matrix_sides(matrices, sides[0] if sides else None)


def suite_of_many(suite: str | None, given: Mapping[str, object]) -> str:
    """Return the suite; raise if there is none, or if an option is given that only a comparison of two sides has."""
    for option, value in given.items():
        if value:
            raise typer.BadParameter(
                f"{option} is for two sides; leave it out, or compare each side with the reference by itself"
            )
    if suite is None:
        raise typer.BadParameter("more than two sides need --suite SUITE")
    return suite


def compare_many_sides(request: ManySidesRequest, output: Path | None, format: str) -> MatrixComparison:
    """Compare, print, and write what was found into `output`."""
    from photometer.cli.progress import comparison_progress
    from photometer.comparing.many_environments import ManySides
    from photometer.model.folder_lock import hold_folder

    if output is not None and (output / FILE_NAME).exists():
        raise typer.BadParameter(f"{output / FILE_NAME} exists already; name another folder")
    with comparison_progress() as observer, ManySides(request, observer) as many:
        matrix = many.run()
    _print(matrix, format)
    if output is not None and matrix.outcome != "nothing":
        with hold_folder(output):
            _write(matrix, output)
        say_aside(f"The page: {output / PAGE_NAME}")
    return matrix


def _print(matrix: MatrixComparison, format: str) -> None:
    from photometer.report.matrix_text import render_matrix, render_matrix_markdown

    if format == "json":
        text = json.dumps({"sides": matrix.names, "rows": [to_record(row) for row in matrix.rows]}, indent=2) + "\n"
    elif format == "markdown":
        text = render_matrix_markdown(matrix)
    else:
        from photometer.tables import shows_colour

        text = render_matrix(matrix, shutil.get_terminal_size((100, 24)).columns, colour=shows_colour())
    show_rendered(text)
    if format == "github":
        from photometer.ci.github_run import GitHubRun

        GitHubRun.here(os.environ).add_summary(render_matrix_markdown(matrix))


def _write(matrix: MatrixComparison, folder: Path) -> None:
    from photometer.comparing.matrix_file import save_matrix
    from photometer.model.whole_file import write_text_whole
    from photometer.report.matrix_page import render_matrix_page
    from photometer.report.matrix_text import render_matrix_markdown

    machine = save_matrix(folder / FILE_NAME, matrix)
    write_text_whole(folder / MARKDOWN_NAME, render_matrix_markdown(matrix))
    write_text_whole(folder / PAGE_NAME, render_matrix_page(matrix, machine.summary()))
