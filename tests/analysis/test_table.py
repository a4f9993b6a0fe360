from __future__ import annotations

from photometer.analysis.table import Block, Cell, EnvGroup, Row, Table, TableRequest, ordered_unique, transpose
from photometer.analysis.tabulate import tabulate
from tests.analysis.measurements import made


def test_ordered_unique_keeps_the_first_of_each() -> None:
    assert ordered_unique(["b", "a", "b", None, "a", None]) == ["b", "a", None]


def test_rows_and_cells_in_order_without_holes() -> None:
    rows = (Row("r", (Cell(1.0, 1), None)), Row("s", (None, Cell(2.0, 1))))
    table = Table("l", "s", 1.0, ("a", "b"), (Block(1, (EnvGroup(None, rows),)),), TableRequest())
    assert [row.name for _, _, row in table.rows()] == ["r", "s"]
    assert [cell.value for cell in table.cells()] == [1.0, 2.0]
    assert not table.has_envs


def test_rows_and_columns_change_places_and_cells_stay() -> None:
    [table] = tabulate([made(1, "a", "x"), made(2, "b", "x"), made(3, "a", "y")])
    turned = transpose(table)
    assert turned.columns == ("a", "b")
    assert [row.name for _, _, row in turned.rows()] == ["x", "y"]
    assert [[cell and round(cell.value) for cell in row.cells] for _, _, row in turned.rows()] == [[1, 2], [3, None]]
    assert list(turned.cells()) == [table.blocks[0].groups[0].rows[i].cells[j] for i, j in ((0, 0), (1, 0), (0, 1))]


def test_envs_go_into_the_heads_and_threads_stay_blocks() -> None:
    [table] = tabulate([made(1, "a", None, env=env, num_threads=n) for env in (None, "e") for n in (1, 2)])
    turned = transpose(table)
    assert turned.columns == ("a", "(e) a")
    assert [block.num_threads for block in turned.blocks] == [1, 2]
    assert not turned.has_envs
