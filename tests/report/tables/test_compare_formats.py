"""The tables of Compare as Markdown, HTML, CSV and JSON: every cell is there, and hostile names stay text."""

from __future__ import annotations

import csv
import io
import json
import re

from photometer.analysis.table import Colorize, Reference, Table, TableRequest
from photometer.analysis.tabulate import tabulate
from photometer.report.tables.compare_formats import (
    CSV_FIELDS,
    render_csv,
    render_html,
    render_json,
    render_markdown,
    render_page,
)
from tests.analysis.measurements import made
from tests.report.test_notebook import HOSTILE, Reader


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_one_line_per_cell_at_full_precision() -> None:
    a, b = made(1e-6, "a", "x", env="e"), made(2e-6, "b", "y", num_threads=4)
    rows = read(render_csv(tabulate([a, b])))
    assert [(r["row"], r["column"], r["env"], r["num_threads"]) for r in rows] == [
        ("a", "x", "e", "1"),
        ("b", "y", "", "4"),
    ]
    assert float(rows[0]["seconds"]) == a.median
    assert rows[0]["ratio"] == rows[0]["intervals_overlap"] == rows[0]["warnings"] == ""


def test_comparison_and_warnings() -> None:
    request = TableRequest(True, True, reference=Reference(row="a"))
    rows = read(render_csv(tabulate([made(1, "a", spread=0.5), made(9, "b", spread=0.01)], request)))
    assert rows[0]["warnings"] == "wide-spread"
    assert float(rows[1]["ratio"]) > 5
    assert rows[1]["intervals_overlap"] == "no"
    assert float(rows[1]["low_seconds"]) < 9 < float(rows[1]["high_seconds"])


def test_hostile_text_is_no_formula_in_csv() -> None:
    evil = '=HYPERLINK("http://e","x")\n\x1b'
    text = render_csv(tabulate([made(1, evil, evil, label=evil, env=evil)]))
    [row] = read(text)
    assert set(row) == set(CSV_FIELDS)
    for name in ("label", "env", "row", "column"):
        assert row[name].startswith("'=")
    assert "\x1b" not in text


def test_csv_without_tables_has_only_the_heads() -> None:
    assert render_csv([]) == ",".join(CSV_FIELDS) + "\r\n"


def test_json_is_nested_as_the_table_is() -> None:
    a = made(1e-6, "a", "x", env="e")
    document = json.loads(render_json(tabulate([a, made(2e-6, "b", "y", env="e")])))
    assert (document["format"], document["version"]) == ("photometer-table", 2)
    [table] = document["tables"]
    assert table["columns"] == ["x", "y"]
    [group] = table["blocks"][0]["groups"]
    assert group["env"] == "e"
    assert group["rows"][0] == {"name": "a", "cells": [{"seconds": a.median, "samples": 40}, None]}


def test_everything_asked_for_is_there_and_infinity_is_null() -> None:
    request = TableRequest(True, True, Colorize.COLUMNWISE, Reference(), "×")
    [table] = json.loads(render_json(tabulate([made(1, "a"), made(2, "b", samples=1)], request)))["tables"]
    best, single = (row["cells"][0] for row in table["blocks"][0]["groups"][0]["rows"])
    assert best["is_baseline"]
    assert single["intervals_overlap"]
    assert single["interval_seconds"][1] is None
    assert single["warnings"][0]["kind"] == "too-few-runs"
    assert best["standing"] == "best"


def test_hostile_text_comes_back_from_json_unchanged() -> None:
    evil = '</script>"\\\x1b\u202e'
    document = json.loads(render_json(tabulate([made(1, evil, evil, label=evil)])))
    assert document["tables"][0]["label"] == evil
    assert document["tables"][0]["columns"] == [evil]


MARKDOWN = "a|b`c`\n# <img src=x onerror=alert(1)> **x** [l](http://e) \\"


def columns_of(line: str) -> int:
    return len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) - 1


def test_a_pipe_table_with_its_unit() -> None:
    [table] = tabulate([made(1e-6, "a", "x", spread=0), made(2e-6, "b", "x", spread=0)])
    assert render_markdown(table) == (
        "### L\n\n|  | x |\n| :--- | ---: |\n| a | 1.0 |\n| b | 2.0 |\n\nTimes are in microseconds (us).\n"
    )


def test_blocks_and_envs() -> None:
    measurements = [made(1e-6, env=env, num_threads=n) for env in ("e", None) for n in (1, 4)]
    [table] = tabulate(measurements)
    lines = render_markdown(table).splitlines()
    assert [line for line in lines if line.startswith("**")] == ["**1 thread**", "**4 threads**"]
    assert lines.count("| env |  | c |") == 2


def test_the_best_is_bold() -> None:
    [table] = tabulate([made(1e-6, "a"), made(3e-6, "b")], TableRequest(colorize=Colorize.COLUMNWISE))
    assert len(re.findall(r"\*\*[\d.]+\*\*", render_markdown(table))) == 1


def test_hostile_text_stays_in_its_markdown_cell() -> None:
    [table] = tabulate([made(1e-6, MARKDOWN, MARKDOWN, label=MARKDOWN, env=e) for e in (MARKDOWN, "f")])
    text = render_markdown(table)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert {columns_of(row) for row in rows} == {3}
    assert "<img" not in text
    assert "[l]" not in text
    assert "http://" not in text
    assert sum(line.startswith("#") for line in text.splitlines()) == 1


def full(*, hostile: bool = False) -> Table:
    text = HOSTILE if hostile else "text"
    measurements = [
        made(t, f"{text}{t}", text, label=text, env=env, num_threads=n, spread=0.2)
        for t in (1e-6, 1.05e-6, 3e-6, 9e-6)
        for env in (text, None)
        for n in (1, 4)
    ]
    request = TableRequest(True, True, Colorize.COLUMNWISE, Reference(), "×")
    [table] = tabulate(measurements, request)
    return table


def test_every_cell_and_row_is_there_and_tags_balance() -> None:
    page = Reader(render_html(full()))
    assert page.open == []
    assert page.tags.count("td") == 16
    assert page.tags.count("tbody") == 2


def test_details_are_in_the_title() -> None:
    text = render_html(full())
    assert "95 % interval" in text
    assert "40 samples" in text


def test_hostile_text_is_only_text_in_html() -> None:
    for text in (render_html(full(hostile=True)), render_page([full(hostile=True)], HOSTILE, [HOSTILE])):
        page = Reader(
            text.replace("<!DOCTYPE html>", "").replace('<meta charset="utf-8">', "").replace("<meta name", "<br name")
        )
        assert "script" not in page.tags
        assert page.open == []
        assert not any(name.startswith("on") for name in page.attributes)
        text.encode("utf-8")


def test_page_stands_alone() -> None:
    text = render_page([full()], "title", ["a note"])
    assert text.startswith("<!DOCTYPE html>")
    assert "http" not in text
    assert "<p>a note</p>" in text
