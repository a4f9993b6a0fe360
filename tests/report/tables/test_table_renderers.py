"""Tables as Markdown, CSV, JSON and HTML: the same rows, escaped, with plain numbers for other programs."""

from __future__ import annotations

import csv
import io
import json
import math

import pytest

from photometer.report.tables.as_csv import render_csv, render_json
from photometer.report.tables.as_html import render_html
from photometer.report.tables.as_markdown import folded, render_markdown
from photometer.report.tables.formats import FORMATS, Format
from photometer.report.tables.table import Cell, Column, Kind, Mark, Section, Table, row_of, table_of

EVIL = "=1+1 </td><script>x</script> |a| @someone [x](http://y) `code` \x1b[31m"
COLUMNS = (
    Column("name", "benchmark", Kind.NAME, meaning="what runs"),
    Column("seconds", "time", Kind.TIME),
    Column("interval", "interval", Kind.CHANGE),
    Column("drawn", "", Kind.BAR),
)


def table(name: str = "add") -> Table:
    rows = [
        row_of({"name": name, "seconds": Cell(1.25e-6, mark=Mark.BAD), "interval": (0.9, math.inf), "drawn": 1.0}),
        row_of({"name": "b", "seconds": Cell(text="failed")}, notes=(f"because of {name}",), tip="more"),
    ]
    return table_of(COLUMNS, rows, title="times", notes=("a note",))


def test_markdown() -> None:
    assert render_markdown(table()).splitlines() == [
        "### times",
        "",
        "| benchmark | time | interval |",
        "| :--- | ---: | ---: |",
        "| add | **1.25 µs** | -10 % to anything |",
        "| b | failed | |",
        "",
        "- b",
        "  - because of add",
        "",
        "a note",
    ]
    assert folded("more", "text") == "<details><summary>more</summary>\n\ntext\n\n</details>"


def test_csv_has_full_precision_and_a_field_for_each_end() -> None:
    rows = list(csv.reader(io.StringIO(render_csv(table()))))
    assert rows == [
        ["name", "seconds", "interval_low", "interval_high", "notes"],
        ["add", "1.25e-06", "0.9", "", ""],
        ["b", "failed", "", "", "because of add"],
    ]


def test_json_names_kinds_and_units() -> None:
    found = json.loads(render_json(table()))
    assert found["columns"][1] == {"key": "seconds", "head": "time", "kind": "time", "unit": "s"}
    assert found["rows"][0] == {
        "name": "add", "seconds": 1.25e-6, "interval_low": 0.9, "interval_high": None, "notes": "",
    }  # fmt: skip
    assert found["notes"] == ["a note"]


def test_html_has_bars_tips_and_marks() -> None:
    html = render_html(table())
    assert '<rect width="120.0"' in html
    assert 'title="what runs"' in html
    assert '<tr title="more">' in html
    assert "rgba(248,81,73,.3)" in html


def test_hostile_names_are_text_everywhere() -> None:
    evil = table(EVIL)
    assert "<script" not in render_html(evil)
    markdown = render_markdown(evil)
    assert "<script" not in markdown
    assert "@someone" not in markdown
    assert "\\|a\\|" in markdown
    cells = [cell for row in csv.reader(io.StringIO(render_csv(evil))) for cell in row]
    assert not any(cell.startswith("=") for cell in cells)
    assert "\x1b" not in markdown + render_html(evil) + "".join(cells)
    assert json.loads(render_json(evil))["rows"][0]["name"] == EVIL


def test_sections_are_rows_in_bold_and_a_field() -> None:
    rows = (row_of({"name": "add", "seconds": 1.0}),)
    sectioned = Table(COLUMNS, (Section("Pointwise", rows), Section("Reduction", rows)))
    assert "| **Pointwise** | |" in render_markdown(sectioned)
    assert render_csv(sectioned).splitlines()[0] == "section,name,seconds,interval"
    assert [row["section"] for row in json.loads(render_json(sectioned))["rows"]] == ["Pointwise", "Reduction"]
    assert ">Reduction</th>" in render_html(sectioned)


@pytest.mark.parametrize("one", FORMATS, ids=lambda one: one.name)
def test_a_table_of_nothing_has_a_text(one: Format) -> None:
    assert isinstance(one.render(table_of([], [], notes=["nothing was measured"])), str)
