"""What a table says, as lists of texts: for tests of what is in it, whatever its format."""

from __future__ import annotations

from photometer.report.tables.table import Table, text_of


def heads(table: Table) -> list[str]:
    """The heads of the columns that are shown."""
    return [column.head for column in table.used_columns]


def texts(table: Table) -> list[list[str]]:
    """The cells of every row, below those heads."""
    return [[text_of(row.cell(column), column) for column in table.used_columns] for row in table.rows]
