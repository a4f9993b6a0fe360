from __future__ import annotations

from photometer.analysis.table import Block, Cell, EnvGroup, Row, Table, TableRequest, ordered_unique


def test_ordered_unique_keeps_the_first_of_each() -> None:
    assert ordered_unique(["b", "a", "b", None, "a", None]) == ["b", "a", None]


def test_rows_and_cells_in_order_without_holes() -> None:
    rows = (Row("r", (Cell(1.0, 1), None)), Row("s", (None, Cell(2.0, 1))))
    table = Table("l", "s", 1.0, ("a", "b"), (Block(1, (EnvGroup(None, rows),)),), TableRequest())
    assert [row.name for _, _, row in table.rows()] == ["r", "s"]
    assert [cell.seconds for cell in table.cells()] == [1.0, 2.0]
    assert not table.has_envs
