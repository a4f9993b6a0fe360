"""A table as JSON: its columns with kinds and units, its rows as objects with plain values, its notes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from photometer.report.tables.table import Column, Kind, Table, fields_of, sections_are_titled, titled_rows

JSON_FORMAT = "photometer-rows"
JSON_VERSION = 1
# Of kinds whose values have one without the column saying so.
_UNITS = {Kind.TIME: "s", Kind.DIFFERENCE: "s", Kind.BYTES: "B"}
SECTION = "section"


def render_json(table: Table) -> str:
    """Return one document."""
    return json.dumps(table_record(table), allow_nan=False, indent=1) + "\n"


def table_record(table: Table) -> dict[str, Any]:
    """Return the table as a plain record; what is not known is null."""
    return {
        "format": JSON_FORMAT,
        "version": JSON_VERSION,
        "title": table.title,
        "columns": [_column_record(column) for column in table.columns],
        "rows": list(plain_rows(table)),
        "notes": list(table.notes),
    }


def plain_rows(table: Table) -> Iterator[dict[str, Any]]:
    """Yield each row as values by the names that other programs read; intervals have one for each end."""
    fields = {column: fields_of(column, table) for column in table.columns if column.kind is not Kind.BAR}
    titled = sections_are_titled(table)
    noted = any(row.notes for row in table.rows)
    for title, row in titled_rows(table):
        record: dict[str, Any] = {SECTION: title} if titled else {}
        for column, names in fields.items():
            cell = row.cell(column)
            if len(names) == 1:
                # A word in place of a number says why there is none.
                record[names[0]] = _plain(cell.value if cell.value is not None else cell.text or None)
            else:
                ends = cell.value if isinstance(cell.value, tuple) else (None, None)
                record.update(zip(names, map(_plain, ends), strict=True))
        if noted:
            record["notes"] = " ".join(row.notes)
        yield record


def _column_record(column: Column) -> dict[str, str]:
    unit = column.unit or _UNITS.get(column.kind, "")
    return {"key": column.key, "head": column.head, "kind": column.kind.value, "unit": unit}


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
