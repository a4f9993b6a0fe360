"""`photometer compare` of other than two sides: many at once (`--matrix`), or one with itself (`--calibrate`)."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from photometer.cli.printing import say_aside, show_rendered, show_text
from photometer.model.records import to_record

if TYPE_CHECKING:
    from photometer.analysis.matrix_result import MatrixComparison
    from photometer.comparing.calibrate import Calibration
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


def calibrate_side(
    base: str,
    suite: str | None,
    *,
    expression: str | None,
    tags: Sequence[str],
    budget: float | None,
    margin: float | None,
    install: str | None,
) -> None:
    """Compare a side with itself, and print the rate of false alarms."""
    if suite is None:
        raise typer.BadParameter("--calibrate needs --suite SUITE")
    from photometer.cli.progress import comparison_progress
    from photometer.comparing.calibrate import calibrate_environment

    given = {"budget": budget, "margin": margin}
    with comparison_progress() as observer:
        calibration = calibrate_environment(
            base,
            suite,
            expression=expression,
            tags=tags,
            install=install,
            observer=observer,
            **{name: value for name, value in given.items() if value is not None},
        )
    show_text(_calibration_text(calibration))


def _calibration_text(calibration: Calibration) -> str:
    rate = calibration.rate
    return (
        f"{rate.alarms} false alarms in {rate.comparisons} comparisons of identical sides: "
        f"{100 * rate.rate:.1f} % (95 % interval {100 * rate.interval[0]:.1f} to {100 * rate.interval[1]:.1f} %)\n"
        f"{calibration.same} same, {calibration.undecided} undecided, {calibration.measuring_seconds:.0f} s measured; "
        f"replicates scatter by {100 * calibration.replicate_spread:.2f} %"
    )
