"""A table as CSV: a line per row, numbers at full precision and without units, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from photometer.report.escape import csv_text
from photometer.report.tables.as_json import plain_rows
from photometer.report.tables.table import Table


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
