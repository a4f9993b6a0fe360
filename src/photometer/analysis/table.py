"""Table: measurements side by side, as data. No text and no colour: the renderers in `report/tables/` write them.

`tabulate.py` makes tables from measurements. A field that was not asked for is None, and was not computed.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Hashable, Iterable, Iterator
from typing import Literal, TypeVar

from photometer.model.diagnosis import Suspicion

RatioStyle = Literal["×", "%"]

# The unit of a table of counts, in place of one of time.
COUNT_UNIT = "instructions"

_Item = TypeVar("_Item", bound=Hashable)


def ordered_unique(elements: Iterable[_Item]) -> list[_Item]:
    """Return each element once, in the order first seen."""
    return list(dict.fromkeys(elements))


class Colorize(enum.Enum):
    """The cells among which the fastest is sought: none, those of a column, or those of a row."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Standing(enum.Enum):
    """How a cell compares with the fastest of its column or row."""

    BEST = "best"
    GOOD = "good"
    MIDDLING = "middling"
    BAD = "bad"
    VERY_BAD = "very bad"


@dataclasses.dataclass(frozen=True)
class Reference:
    """The baseline of ratios, always in the cell's own column and block.

    A row: that row of the same env. An env: the same row of that env. Both: that one row. Neither: the fastest cell.
    """

    row: str | None = None
    env: str | None = None

    @property
    def is_fastest(self) -> bool:
        return self.row is None and self.env is None


@dataclasses.dataclass(frozen=True)
class TableRequest:
    """What a table shows beyond the medians. Nothing else is computed."""

    significant_figures: bool = False
    warnings: bool = False
    colorize: Colorize = Colorize.NONE
    reference: Reference | None = None
    ratio_style: RatioStyle | None = None


@dataclasses.dataclass(frozen=True)
class Cell:
    """`value` is in seconds, or in instructions per run if the table is one of counts."""

    value: float
    samples: int
    significant_figures: int | None = None
    spread: float | None = None
    interval: tuple[float, float] | None = None
    standing: Standing | None = None
    ratio: float | None = None
    is_reference: bool = False
    overlaps_reference: bool = False
    warnings: tuple[Suspicion, ...] = ()


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    cells: tuple[Cell | None, ...]


@dataclasses.dataclass(frozen=True)
class EnvGroup:
    """Neighbouring rows of one env."""

    env: str | None
    rows: tuple[Row, ...]


@dataclasses.dataclass(frozen=True)
class Block:
    """Rows with one number of threads: cells of different blocks are never compared."""

    num_threads: int
    groups: tuple[EnvGroup, ...]


@dataclasses.dataclass(frozen=True)
class Table:
    """The measurements of one label. `columns` are the heads of every row's cells; None means no description."""

    label: str | None
    unit: str
    unit_size: float
    columns: tuple[str | None, ...]
    blocks: tuple[Block, ...]
    request: TableRequest

    @property
    def has_counts(self) -> bool:
        """Whether the cells are instructions per run, not seconds."""
        return self.unit == COUNT_UNIT

    @property
    def has_envs(self) -> bool:
        """Whether there is more than one env."""
        return len({group.env for block in self.blocks for group in block.groups}) > 1

    def rows(self) -> Iterator[tuple[Block, EnvGroup, Row]]:
        for block in self.blocks:
            for group in block.groups:
                for row in group.rows:
                    yield block, group, row

    def cells(self) -> Iterator[Cell]:
        for _, _, row in self.rows():
            for cell in row.cells:
                if cell is not None:
                    yield cell


def transpose(table: Table) -> Table:
    """Return the table with rows and columns exchanged; its cells and its blocks by number of threads stay.

    A column is headed by the row's name and, if there are several envs, by its env.
    """
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
