"""A table as data: columns with a kind, rows of typed cells in sections, marks, and notes below rows and table.

Whoever has something to show makes one of these; `as_text`, `as_markdown`, `as_html`, `as_csv` and `as_json` turn it
into characters. What a cell says follows from its column's kind (model/units.py formats it) unless it brings a text.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterator, Mapping, Sequence

from photometer.model.units import (
    change,
    format_amount,
    format_bytes,
    format_count,
    format_difference,
    format_interval,
    format_number,
    format_ratio,
    format_seconds,
    percent,
    span,
)

# A number, a text, both ends of an interval, or nothing known.
Value = str | float | tuple[float, float] | None
# Of two columns that do not fit, the one with the larger number leaves the row first.
STAYS = 0


class Kind(enum.Enum):
    """The content of a column. It decides alignment, formatting, and how other programs read it."""

    # What tells rows apart. It is never cut so that two look alike, and never leaves its row.
    NAME = "name"
    WORDS = "words"
    TIME = "time"
    # A signed time.
    DIFFERENCE = "difference"
    COUNT = "count"
    # A signed count.
    ADDED = "added"
    BYTES = "bytes"
    # A share of one: 0.12 is 12 %.
    SHARE = "share"
    # A ratio shown as signed per cent: 1.03 is +3.0 %.
    CHANGE = "change"
    # A ratio shown as such: 1.25×.
    RATIO = "ratio"
    # A number with a prefix before the column's unit: 2.15 GFLOP/s.
    AMOUNT = "amount"
    NUMBER = "number"
    # Drawn as long as its share of the column's largest; only where something can be drawn.
    BAR = "bar"


class Mark(enum.Enum):
    """The meaning of a cell's look; renderers have colours or bold type for it."""

    NONE = "none"
    BAD = "bad"
    DOUBT = "doubt"
    FAIR = "fair"
    GOOD = "good"
    BEST = "best"
    FAINT = "faint"


@dataclasses.dataclass(frozen=True)
class Column:
    """One column. `key` names it to other programs, `head` to readers, `meaning` explains the head."""

    key: str
    head: str
    kind: Kind = Kind.NUMBER
    unit: str = ""
    priority: int = 1
    # Significant digits of times and ratios.
    digits: int = 3
    # Longer names lose their middle, as long as they stay distinct.
    longest: int | None = None
    meaning: str = ""
    # Whether names are code.
    is_code: bool = False

    @property
    def is_text(self) -> bool:
        return self.kind in (Kind.NAME, Kind.WORDS)

    @property
    def is_fixed(self) -> bool:
        """Whether it stays in its row, however narrow the terminal."""
        return self.kind is Kind.NAME or self.priority == STAYS


@dataclasses.dataclass(frozen=True)
class Cell:
    """One value. `text` replaces what the kind would say; `before` and `after` are signs beside it, such as `? `."""

    value: Value = None
    text: str = ""
    mark: Mark = Mark.NONE
    before: str = ""
    after: str = ""
    # More about it, shown where a mouse can rest on it.
    tip: str = ""


@dataclasses.dataclass(frozen=True)
class Row:
    """Cells by the key of their column; `notes` stand below the row."""

    cells: Mapping[str, Cell]
    notes: tuple[str, ...] = ()
    tip: str = ""

    def cell(self, column: Column) -> Cell:
        return self.cells.get(column.key, _EMPTY)


@dataclasses.dataclass(frozen=True)
class Section:
    """Rows below a title of their own; the only section of a plain table has none."""

    title: str
    rows: tuple[Row, ...]


@dataclasses.dataclass(frozen=True)
class Table:
    """The input of every renderer."""

    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    title: str = ""
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(row for section in self.sections for row in section.rows)

    @property
    def used_columns(self) -> tuple[Column, ...]:
        """Return the columns to show: names, and those with a value in any row."""
        rows = self.rows
        return tuple(
            column
            for column in self.columns
            if column.kind is Kind.NAME or any(text_of(row.cell(column), column) for row in rows)
        )

    @property
    def name_column(self) -> Column:
        return next((column for column in self.columns if column.kind is Kind.NAME), self.columns[0])


def table_of(columns: Sequence[Column], rows: Sequence[Row], *, title: str = "", notes: Sequence[str] = ()) -> Table:
    """Return a table of one section."""
    return Table(tuple(columns), (Section("", tuple(rows)),), title, tuple(notes))


def row_of(values: Mapping[str, Cell | Value], notes: Sequence[str] = (), tip: str = "") -> Row:
    """Return a row; plain values become cells, and unknown ones are left out."""
    cells = {key: each if isinstance(each, Cell) else Cell(each) for key, each in values.items() if each is not None}
    return Row(cells, tuple(notes), tip)


def table_of_records(records: Sequence[Mapping[str, object]], names: Sequence[str] | None = None) -> Table:
    """Return plain records as a table, for what has no table of its own: a column for each name, in their order."""
    used = dict.fromkeys(name for each in records for name in each) if names is None else names
    columns = [Column(name, name, _kind_of(name, records)) for name in used]
    return table_of(columns, [row_of({name: _plain_cell(value) for name, value in each.items()}) for each in records])


def _kind_of(name: str, records: Sequence[Mapping[str, object]]) -> Kind:
    if any(isinstance(each.get(name), str) for each in records):
        return Kind.WORDS
    return Kind.TIME if name == "seconds" or name.endswith("_seconds") else Kind.NUMBER


def _plain_cell(value: object) -> Cell:
    if isinstance(value, bool):
        return Cell(value, "yes" if value else "no")
    return Cell(value) if value is None or isinstance(value, (str, int, float)) else Cell(str(value))


def text_of(cell: Cell, column: Column) -> str:
    """Return the text of a cell, not escaped yet; empty if nothing is known."""
    said = cell.text or _value_text(cell.value, column)
    return f"{cell.before}{said}{cell.after}" if said else ""


def fields_of(column: Column, table: Table) -> tuple[str, ...]:
    """Return the names that other programs read a column by: one, or one for each end of an interval."""
    if any(isinstance(row.cell(column).value, tuple) for row in table.rows):
        return (f"{column.key}_low", f"{column.key}_high")
    return (column.key,)


def sections_are_titled(table: Table) -> bool:
    return any(section.title for section in table.sections)


def titled_rows(table: Table) -> Iterator[tuple[str, Row]]:
    for section in table.sections:
        for row in section.rows:
            yield section.title, row


def _value_text(value: Value, column: Column) -> str:
    if value is None or column.kind is Kind.BAR:
        return ""
    if isinstance(value, str):
        return value
    text = _formatter(column)
    if isinstance(value, tuple):
        return span(value) if column.kind is Kind.CHANGE else format_interval(value, text)
    return text(value)


def _formatter(column: Column) -> Callable[[float], str]:
    if column.kind is Kind.TIME:
        return lambda value: format_seconds(value, column.digits)
    if column.kind is Kind.RATIO:
        return lambda value: format_ratio(value, column.digits)
    if column.kind is Kind.AMOUNT:
        return lambda value: format_amount(value, column.unit)
    if column.kind is Kind.ADDED:
        return lambda value: format_count(value, signed=True)
    plain = _FORMATS.get(column.kind, format_number)
    return (lambda value: f"{plain(value)} {column.unit}") if column.unit else plain


_FORMATS: dict[Kind, Callable[[float], str]] = {
    Kind.DIFFERENCE: format_difference,
    Kind.COUNT: format_count,
    Kind.BYTES: format_bytes,
    Kind.SHARE: percent,
    Kind.CHANGE: change,
}
_EMPTY = Cell()
