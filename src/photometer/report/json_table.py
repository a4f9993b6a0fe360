"""Tables to JSON, for other programs: the same nesting as the Table, full precision, seconds throughout."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

from photometer.analysis.table import Cell, Table

FORMAT = "photometer-table"
VERSION = 1


def render_json(tables: Iterable[Table]) -> str:
    document = {"format": FORMAT, "version": VERSION, "tables": [_table(table) for table in tables]}
    return json.dumps(document, allow_nan=False, indent=1) + "\n"


def _table(table: Table) -> dict[str, Any]:
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
                            {"name": row.name, "cells": [None if cell is None else _cell(cell) for cell in row.cells]}
                            for row in group.rows
                        ],
                    }
                    for group in block.groups
                ],
            }
            for block in table.blocks
        ],
    }


def _cell(cell: Cell) -> dict[str, Any]:
    record: dict[str, Any] = {"median_seconds": cell.seconds, "samples": cell.samples}
    optional = {
        "significant_figures": cell.significant_figures,
        "spread": cell.spread,
        # One sample has an endless interval, and JSON has no infinity.
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
        record["warnings"] = [suspicion.to_json() for suspicion in cell.warnings]
    return record
