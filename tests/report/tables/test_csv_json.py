"""Tables for other programs: every number at full precision, no formula in a spreadsheet, no infinity in JSON."""

from __future__ import annotations

import csv
import io
import json

from photometer.analysis.table import Colorize, Reference, TableRequest
from photometer.analysis.tabulate import tabulate
from photometer.report.tables.csv_json import CSV_FIELDS, render_csv, render_json
from tests.analysis.measurements import made


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
