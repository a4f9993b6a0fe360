"""One line per variant of a run, with its sizes, rates, phases and metrics, as CSV or JSON. In: rows. Out: text."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from photometer.report.escape import csv_text


def render_variants_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Return the rows below their heads; what is not known is empty."""
    written = io.StringIO()
    heads = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([csv_text(head) for head in heads])
    for row in rows:
        writer.writerow([_cell(row.get(head)) for head in heads])
    return written.getvalue()


def render_variants_json(rows: Sequence[dict[str, Any]]) -> str:
    return json.dumps(list(rows), indent=2, allow_nan=False) + "\n"


def _cell(value: Any) -> Any:
    return "" if value is None else csv_text(value) if isinstance(value, str) else value
