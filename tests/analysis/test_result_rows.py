"""One row per variant, and its CSV."""

from __future__ import annotations

import csv
import io
import json

from photometer.analysis.result_rows import FIRST_VARIANT_COLUMNS, variant_rows
from photometer.model.records import to_record
from photometer.report.tables.as_csv import render_csv, render_variants_json
from photometer.report.tables.table import table_of_records
from tests.analysis.order_records import PEAK, metered, order, phased, timed, worked

RECORDS = [
    timed(order("a", {"n": 4}), 1e-3),
    worked(order("a", {"n": 4}), 1e6, 1e3),
    metered(order("a", {"n": 4}), loss=(3.0, 2.0, 1.0)),
    phased(order("a", {"n": 4}), forward=4e-4),
    timed(order("=b", {"m": (2, 3)}, runtime="compiled", compile={"mode": "reduce-overhead"}), 1e-3),
    to_record(PEAK),
]


def test_sizes_and_figures_are_columns() -> None:
    first, second = variant_rows(RECORDS)
    assert tuple(first)[: len(FIRST_VARIANT_COLUMNS) + 3] == (*FIRST_VARIANT_COLUMNS, "n", "m", "seconds")
    assert (first["benchmark"], first["n"], first["m"], first["loss"], first["forward_seconds"]) == (
        "a",
        4,
        None,
        2.0,
        4e-4,
    )
    assert first["bound"] == "compute"
    assert (second["runtime"], second["m"], second["n"]) == ("compiled reduce-overhead", "(2, 3)", None)
    assert set(first) == set(second)


def test_csv_and_json() -> None:
    rows = variant_rows(RECORDS)
    read = list(csv.DictReader(io.StringIO(render_csv(table_of_records(rows)))))
    assert [row["n"] for row in read] == ["4", ""]
    # A spreadsheet would compute a text that begins like that.
    assert not read[1]["benchmark"].startswith("=")
    assert json.loads(render_variants_json(rows)) == rows
    assert render_csv(table_of_records([])).strip() == ""


def test_a_number_that_json_does_not_have_is_null() -> None:
    assert json.loads(render_variants_json([{"a": float("inf"), "b": [float("nan"), 1.0]}])) == [
        {"a": None, "b": [None, 1.0]}
    ]
