"""Table: a finished comparison as data. No text, no colour: the renderers in `report/` make characters of it.

`tabulate.py` fills it from measurements. A field that was not asked for is None, and was not computed.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Hashable, Iterable, Iterator
from typing import Literal, TypeVar

from photometer.model.suspicion import Suspicion

RatioStyle = Literal["×", "%"]

_Item = TypeVar("_Item", bound=Hashable)


def ordered_unique(elements: Iterable[_Item]) -> list[_Item]:
    """Each element once, in the order first seen."""
    return list(dict.fromkeys(elements))


class Colorize(enum.Enum):
    """Among which cells the fastest is looked for: none, those of a column, or those of a row."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Standing(enum.Enum):
    """How a cell stands beside the fastest of its peers."""

    BEST = "best"
    GOOD = "good"
    MIDDLING = "middling"
    BAD = "bad"
    VERY_BAD = "very bad"


@dataclasses.dataclass(frozen=True)
class Reference:
    """What ratios are taken to, always in the cell's own column and block.

    A row: that row of the same env. An env: the same row of that env. Both: that one row. Neither: the fastest cell.
    """

    row: str | None = None
    env: str | None = None

    @property
    def is_fastest(self) -> bool:
        return self.row is None and self.env is None


@dataclasses.dataclass(frozen=True)
class TableRequest:
    """What a table shall say beyond the medians. Nothing else is computed."""

    significant_figures: bool = False
    warnings: bool = False
    colorize: Colorize = Colorize.NONE
    reference: Reference | None = None
    ratio_style: RatioStyle | None = None


@dataclasses.dataclass(frozen=True)
class Cell:
    seconds: float
    samples: int
    significant_figures: int | None = None
    spread: float | None = None
    interval: tuple[float, float] | None = None
    standing: Standing | None = None
    ratio: float | None = None
    is_reference: bool = False
    indistinguishable: bool = False
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
    """Rows of one number of threads: statistics never leave a block."""

    num_threads: int
    groups: tuple[EnvGroup, ...]


@dataclasses.dataclass(frozen=True)
class Table:
    """One label's measurements. `columns` are heads, one for each cell of every row; None is no description."""

    label: str | None
    unit: str
    seconds_per_unit: float
    columns: tuple[str | None, ...]
    blocks: tuple[Block, ...]
    request: TableRequest

    @property
    def has_envs(self) -> bool:
        """Whether there is more than one env to tell apart."""
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
