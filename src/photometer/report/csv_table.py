"""Tables to CSV, a line a cell: the long form that spreadsheets and data frames can pivot as they like."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from photometer.analysis.table import Table
from photometer.report.escape import csv_text

FIELDS = (
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


def render_csv(tables: Iterable[Table]) -> str:
    """All tables below one line of heads. What was not asked for is an empty field."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(FIELDS)
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
