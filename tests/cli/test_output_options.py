"""A format is declared once: every command that shows a table offers it, for every kind of result."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer.main

from photometer.cli import build_app, option_values, output_options
from photometer.cli.output_options import TERMINAL, wanted
from photometer.report.comparison_text import render_comparison_in
from photometer.report.ranking_text import render_ranking_in
from photometer.report.tables.formats import CSV, FORMATS, HTML, JSON, Format
from photometer.report.tables.table import Table
from photometer.results import save
from tests.analysis.measurements import made
from tests.analysis.verdicts import comparison, result
from tests.cli.test_options import options
from tests.photometer_command import status_of
from tests.report.test_plots import ranking


def in_lines(table: Table) -> str:
    """A new format: a line for each row, with the keys of its cells."""
    return "".join(f"row: {', '.join(row.cells)}\n" for row in table.rows)


LINES = Format("lines", "lines", (".lines",), in_lines)


@pytest.fixture
def with_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_options, "FORMATS", (*FORMATS, LINES))
    values = {**option_values._IS_VALUE, "--lines": lambda word: word.endswith(".lines")}
    monkeypatch.setattr(option_values, "_IS_VALUE", values)


@pytest.mark.usefixtures("with_lines")
def test_every_command_that_has_the_other_formats_has_a_new_one() -> None:
    app = typer.main.get_command(build_app())
    history = app.commands.pop("history")  # type: ignore[attr-defined]
    commands = {**app.commands, **{f"history {name}": each for name, each in history.commands.items()}}  # type: ignore[attr-defined]
    offering = {name for name, each in commands.items() if any("--lines" in option.opts for option in each.params)}
    assert offering == set(options()["--csv"]["[FILE]"])
    assert offering > {"ab", "compare", "fuzz", "history curves", "run", "show", "time"}


MATRIX = Path(__file__).parents[1] / "analysis" / "data" / "matrix.json"


@pytest.mark.usefixtures("with_lines")
def test_files_are_shown_and_written_in_a_new_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(tmp_path / "times.json", [made(1e-6, "a", "x"), made(2e-6, "b", "x")])
    for file, key in ((tmp_path / "times.json", "seconds"), (MATRIX, "benchmark")):
        assert status_of("show", file, "--lines") == 0
        printed = capsys.readouterr().out.splitlines()
        assert len(printed) > 1
        assert all(line.startswith("row: ") and key in line for line in printed)
        assert status_of("show", file, "--lines", tmp_path / "out.lines") == 0
        assert (tmp_path / "out.lines").read_text().splitlines() == printed
        capsys.readouterr()


def test_rankings_and_comparisons_are_rendered_in_a_new_format() -> None:
    assert render_ranking_in(LINES, ranking("x + x", "x * 2")).count("row: rank") == 2
    assert render_comparison_in(LINES, comparison(result("slower", 1.5))).count("row: verdict") == 1


def test_a_page_of_a_comparison_begins_with_the_outcome() -> None:
    page = render_comparison_in(HTML, comparison(result("slower", 1.5, title="<b>add")))
    assert page.startswith("<!DOCTYPE html>")
    assert "1 slower" in page
    assert "&lt;b&gt;add" in page
    assert "<b>" not in page


def test_two_formats_are_not_both_printed(tmp_path: Path) -> None:
    assert wanted({JSON: None, CSV: None}).printed is TERMINAL
    asked = wanted({JSON: "-", CSV: str(tmp_path / "a.csv")})
    assert (asked.printed, asked.files) == (JSON, ((CSV, tmp_path / "a.csv"),))
    with pytest.raises(typer.BadParameter, match="--json and --csv cannot both be printed"):
        wanted({JSON: "-", CSV: "-"})
