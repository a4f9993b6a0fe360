"""A table turned on its side: descriptions become rows, and rows become columns. What the cells say stays the same."""

from __future__ import annotations

import dataclasses

from photometer.analysis.table import Block, Cell, EnvGroup, Row, Table, ordered_unique


def transpose(table: Table) -> Table:
    """Blocks by number of threads stay; a column is headed by the row's name, and its env where there are several."""
    with_env = table.has_envs
    heads = ordered_unique((group.env, row.name) for _, group, row in table.rows())
    column_of = {head: i for i, head in enumerate(heads)}
    blocks = []
    for block in table.blocks:
        sides: list[list[Cell | None]] = [[None] * len(heads) for _ in table.columns]
        for group in block.groups:
            for row in group.rows:
                column = column_of[(group.env, row.name)]
                for side, cell in zip(sides, row.cells, strict=True):
                    side[column] = cell
        rows = [
            Row(description or "", tuple(side))
            for description, side in zip(table.columns, sides, strict=True)
            if any(cell is not None for cell in side)
        ]
        blocks.append(Block(block.num_threads, (EnvGroup(None, tuple(rows)),)))
    columns = tuple(f"({env}) {name}" if with_env and env is not None else name for env, name in heads)
    return dataclasses.replace(table, columns=columns, blocks=tuple(blocks))
