"""A table as CSV or JSON, for spreadsheets, data frames and programs.

CSV has a line per row, with numbers at full precision and without units; JSON has the columns with kinds and units, the
rows as objects with plain values, and the notes. A run is also written with one line per variant, with its sizes,
rates, phases and metrics.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from photometer.report.escape import csv_text
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


def render_variants_json(rows: Sequence[dict[str, Any]]) -> str:
    """Return a list of objects; a number that JSON does not have, which only a hostile file has, is null."""
    return json.dumps(_known(list(rows)), indent=2, allow_nan=False) + "\n"


def _known(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _known(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_known(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def render_csv(table: Table) -> str:
    """Return a line of names and a line per row; an interval has a field for each end."""
    rows = list(plain_rows(table))
    heads = list(rows[0]) if rows else [column.key for column in table.columns]
    return write_csv(heads, rows)


def write_csv(heads: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return records as CSV. No spreadsheet reads a formula in it; what is not known is empty."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\r\n")
    writer.writerow([csv_text(head) for head in heads])
    for row in rows:
        writer.writerow([_field(row.get(head)) for head in heads])
    return written.getvalue()


def _field(value: Any) -> Any:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return csv_text(value) if isinstance(value, str) else value
