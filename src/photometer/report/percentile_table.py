"""A table of the slow runs: the 50th, 90th, 95th and 99th percentile of each measurement.

In: Measurements. Out: a Table, which says of each whether its samples are single runs or blocks of several.
"""

from __future__ import annotations

from collections.abc import Sequence

from photometer.model.measurement import PERCENTILES, Measurement
from photometer.report.tables.table import STAYS, Column, Kind, Table, row_of, table_of

COLUMNS = (
    Column("benchmark", "benchmark", Kind.NAME),
    *(Column(f"p{percent}_seconds", f"{percent} %", Kind.TIME, priority=STAYS) for percent in PERCENTILES),
    Column("samples", "samples", Kind.COUNT),
    Column("percentiles_of", "of", Kind.WORDS),
)
BLOCKS_NOTE = (
    "Blocks of several runs scatter less than single runs: a slow one is averaged with the others of its block."
)


def table_of_percentiles(measurements: Sequence[Measurement]) -> Table:
    """Return a row per measurement."""
    rows = [
        row_of(
            {
                "benchmark": each.title,
                **{f"p{percent}_seconds": each.percentile(percent) for percent in PERCENTILES},
                "samples": len(each.raw_times),
                "percentiles_of": each.percentiles_are_of,
            }
        )
        for each in measurements
    ]
    notes = [BLOCKS_NOTE] if any(each.number_per_run > 1 for each in measurements) else []
    return table_of(COLUMNS, rows, title="Percentiles", notes=notes)
