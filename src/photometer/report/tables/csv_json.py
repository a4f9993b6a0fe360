"""Tables for other programs: CSV with one line per cell, and JSON nested as the Table is.

In: finished Tables. Out: text with times in seconds, at full precision. The long form of the CSV suits spreadsheets and
data frames, which can pivot it.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable
from typing import Any

from photometer.analysis.table import Cell, Table
from photometer.model.records import to_record
from photometer.report.escape import csv_text

CSV_FIELDS = (
    "label",
    "num_threads",
    "env",
    "row",
    "column",
    "median_seconds",
    "samples",
    "significant_figures",
    "spread",
    "low_seconds",
    "high_seconds",
    "ratio",
    "no_significant_difference",
    "warnings",
)
JSON_FORMAT = "photometer-table"
JSON_VERSION = 1


def render_csv(tables: Iterable[Table]) -> str:
    """Return all tables below one line of heads. A field that was not asked for is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(CSV_FIELDS)
    for table in tables:
        compared = table.request.reference is not None
        for block, group, row in table.rows():
            for head, cell in zip(table.columns, row.cells, strict=True):
                if cell is None:
                    continue
                low, high = cell.interval or (None, None)
                writer.writerow(
                    [
                        csv_text(table.label or ""),
                        block.num_threads,
                        csv_text(group.env or ""),
                        csv_text(row.name),
                        csv_text(head or ""),
                        repr(cell.seconds),
                        cell.samples,
                        cell.significant_figures,
                        cell.spread,
                        low,
                        high,
                        cell.ratio,
                        ("yes" if cell.indistinguishable else "no") if compared else None,
                        " ".join(suspicion.kind.value for suspicion in cell.warnings),
                    ]
                )
    return out.getvalue()


def render_json(tables: Iterable[Table]) -> str:
    """Return one document with every table. A field that was not asked for is left out."""
    document = {"format": JSON_FORMAT, "version": JSON_VERSION, "tables": [_table_json(table) for table in tables]}
    return json.dumps(document, allow_nan=False, indent=1) + "\n"


def _table_json(table: Table) -> dict[str, Any]:
    reference = table.request.reference
    return {
        "label": table.label,
        "columns": list(table.columns),
        "baseline": None if reference is None else {"row": reference.row, "env": reference.env},
        "blocks": [
            {
                "num_threads": block.num_threads,
                "groups": [
                    {
                        "env": group.env,
                        "rows": [
                            {
                                "name": row.name,
                                "cells": [_cell_json(cell) for cell in row.cells],
                            }
                            for row in group.rows
                        ],
                    }
                    for group in block.groups
                ],
            }
            for block in table.blocks
        ],
    }


def _cell_json(cell: Cell | None) -> dict[str, Any] | None:
    if cell is None:
        return None
    record: dict[str, Any] = {"median_seconds": cell.seconds, "samples": cell.samples}
    optional = {
        "significant_figures": cell.significant_figures,
        "spread": cell.spread,
        # The interval of one sample is infinite, and JSON has no infinity.
        "interval_seconds": None if cell.interval is None else [x if math.isfinite(x) else None for x in cell.interval],
        "standing": None if cell.standing is None else cell.standing.value,
        "ratio": cell.ratio,
    }
    record.update({name: value for name, value in optional.items() if value is not None})
    if cell.is_reference:
        record["is_baseline"] = True
    if cell.indistinguishable:
        record["no_significant_difference"] = True
    if cell.warnings:
        record["warnings"] = [to_record(suspicion) for suspicion in cell.warnings]
    return record
