from __future__ import annotations

import csv
import io

from photometer.analysis.table import Reference, TableRequest
from photometer.analysis.tabulate import tabulate
from photometer.report.csv_table import FIELDS, render_csv
from tests.analysis.measurements import made


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_one_line_a_cell_at_full_precision() -> None:
    a, b = made(1e-6, "a", "x", env="e"), made(2e-6, "b", "y", num_threads=4)
    rows = read(render_csv(tabulate([a, b])))
    assert [(r["row"], r["column"], r["env"], r["num_threads"]) for r in rows] == [
        ("a", "x", "e", "1"),
        ("b", "y", "", "4"),
    ]
    assert float(rows[0]["median_seconds"]) == a.median
    assert rows[0]["ratio"] == rows[0]["no_significant_difference"] == rows[0]["warnings"] == ""


def test_comparison_and_warnings() -> None:
    request = TableRequest(True, True, reference=Reference(row="a"))
    rows = read(render_csv(tabulate([made(1, "a", spread=0.5), made(9, "b", spread=0.01)], request)))
    assert rows[0]["warnings"] == "wide-spread"
    assert float(rows[1]["ratio"]) > 5
    assert rows[1]["no_significant_difference"] == "no"
    assert float(rows[1]["low_seconds"]) < 9 < float(rows[1]["high_seconds"])


def test_hostile_text_is_no_formula() -> None:
    evil = '=HYPERLINK("http://e","x")\n\x1b'
    text = render_csv(tabulate([made(1, evil, evil, label=evil, env=evil)]))
    [row] = read(text)
    assert set(row) == set(FIELDS)
    for name in ("label", "env", "row", "column"):
        assert row[name].startswith("'=")
    assert "\x1b" not in text


def test_no_tables_leave_the_heads() -> None:
    assert render_csv([]) == ",".join(FIELDS) + "\r\n"
