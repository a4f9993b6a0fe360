"""Tables for other programs: CSV with one line per cell, and JSON nested as the Table is.

In: finished Tables. Out: text with times in seconds, at full precision. The long form of the CSV suits spreadsheets and
data frames, which can pivot it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

from photometer.analysis.table import Cell, Table
from photometer.model.records import to_record
from photometer.report.tables.as_csv import write_csv

CSV_FIELDS = (
    "label",
    "num_threads",
    "env",
    "row",
    "column",
    "seconds",
    "samples",
    "significant_figures",
    "spread",
    "low_seconds",
    "high_seconds",
    "ratio",
    "intervals_overlap",
    "warnings",
    "instructions_per_run",
)
JSON_FORMAT = "photometer-table"
# Version 2 calls the figure of a cell `seconds`: of a run it is not the median, but the time without disturbances.
JSON_VERSION = 2


def cell_rows(tables: Iterable[Table]) -> Iterator[dict[str, Any]]:
    """Yield the values of CSV_FIELDS for every cell. A field that was not requested is None."""
    for table in tables:
        compared = table.request.reference is not None
        for block, group, row in table.rows():
            for head, cell in zip(table.columns, row.cells, strict=True):
                if cell is None:
                    continue
                value, (low, high) = (
                    (None, (None, None)) if table.has_counts else (cell.value, cell.interval or (None, None))
                )
                yield {
                    "label": table.label,
                    "num_threads": block.num_threads,
                    "env": group.env,
                    "row": row.name,
                    "column": head,
                    "seconds": value,
                    "samples": cell.samples,
                    "significant_figures": cell.significant_figures,
                    "spread": cell.spread,
                    "low_seconds": low,
                    "high_seconds": high,
                    "ratio": cell.ratio,
                    "intervals_overlap": cell.overlaps_reference if compared else None,
                    "warnings": " ".join(suspicion.kind.value for suspicion in cell.warnings),
                    "instructions_per_run": cell.value if table.has_counts else None,
                }


def render_csv(tables: Iterable[Table]) -> str:
    """Return all tables below one line of heads. A field that was not requested is empty."""
    return write_csv(CSV_FIELDS, cell_rows(tables))


def render_json(tables: Iterable[Table]) -> str:
    """Return one document with every table. A field that was not requested is left out."""
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
                                "cells": [_cell_json(cell, table) for cell in row.cells],
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


def _cell_json(cell: Cell | None, table: Table) -> dict[str, Any] | None:
    if cell is None:
        return None
    record: dict[str, Any] = {_value_name(table): cell.value, "samples": cell.samples}
    optional = {
        "significant_figures": cell.significant_figures,
        "spread": cell.spread,
        # The interval of one sample is infinite, and JSON has no infinity.
        "interval_seconds": None
        if cell.interval is None or table.has_counts
        else [x if math.isfinite(x) else None for x in cell.interval],
        "standing": None if cell.standing is None else cell.standing.value,
        "ratio": cell.ratio,
    }
    record.update({name: value for name, value in optional.items() if value is not None})
    if cell.is_reference:
        record["is_baseline"] = True
    if cell.overlaps_reference:
        record["intervals_overlap"] = True
    if cell.warnings:
        record["warnings"] = [to_record(suspicion) for suspicion in cell.warnings]
    return record


def _value_name(table: Table) -> str:
    return "instructions_per_run" if table.has_counts else "seconds"
