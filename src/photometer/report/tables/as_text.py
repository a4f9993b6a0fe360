"""A table as aligned text for a terminal of any width. In: a Table. Out: lines no wider than asked for, if possible.

Figures are never cut, and names never so that two look alike: what does not fit side by side continues below its row,
the least important columns first, and names wrap. Written by hand because a rich.Table of ten thousand rows takes many
seconds.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Sequence

from photometer.model.visible_text import visible_line
from photometer.report.tables.table import Column, Kind, Mark, Row, Section, Table, text_of
from photometer.report.text_width import shorten_apart, width_of, wrap, wrap_name

GAP = "  "
# Before other columns leave for it, a name gets this much, or half of its length if that is more.
NARROWEST_NAME = 24
# However narrow the terminal, text gets this much.
NARROWEST_TEXT = 12
WIDEST_HEAD = 28
# Rows of a titled section, lines below a row, and their continuation.
SECTION_INDENT = "  "
BELOW_INDENT = "    "
COLOURS = {
    Mark.BAD: "\033[1;31m",
    Mark.DOUBT: "\033[33m",
    Mark.FAIR: "\033[34m",
    Mark.GOOD: "\033[32m",
    Mark.BEST: "\033[1;32m",
    Mark.FAINT: "\033[2m",
}
PLAIN = "\033[0m"
_NUMBER_AND_UNIT = re.compile(r"(\d) (?=(?:%|[nµm]?s|[KMGT]?i?B)(?:[^\w]|$))")


@dataclasses.dataclass(frozen=True)
class _Layout:
    """Which columns stand side by side, how wide each is, and which continue below their rows."""

    beside: tuple[Column, ...]
    widths: tuple[int, ...]
    below: tuple[Column, ...]


def render_text(table: Table, width: int | None = None, *, colour: bool = False, indent: str = "") -> str:
    """Return the title, the rows below their heads, and the notes. `width` None is no limit."""
    lines = [indent + line for line in text_lines(table, None if width is None else width - len(indent), colour)]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def text_lines(table: Table, width: int | None = None, colour: bool = False) -> Iterator[str]:
    """Yield the lines of `render_text`."""
    if table.title:
        yield from note_lines(table.title, width)
    columns = tuple(column for column in table.used_columns if column.kind is not Kind.BAR)
    shown = _shown_texts(table, columns)
    layout = _fit(table, columns, shown, width)
    place = 0
    for number, section in enumerate(table.sections):
        if section.title and number:
            yield ""
        yield from _head_lines(section, layout)
        for row in section.rows:
            yield from _row_lines(row, shown[place], layout, width, colour, SECTION_INDENT if section.title else "")
            place += 1
    yield from _note_blocks(table.notes, width)


def _note_blocks(notes: Sequence[str], width: int | None) -> Iterator[str]:
    """Yield the notes below the table, those of several lines as paragraphs."""
    for place, note in enumerate(notes):
        if place == 0 or "\n" in note or "\n" in notes[place - 1]:
            yield ""
        yield from note_lines(note, width)


def note_lines(text: str, width: int | None, first: str = "", rest: str = "") -> list[str]:
    """Return a sentence wrapped to the width; its own line ends stay."""
    limit = math.inf if width is None else max(width - len(rest or first), 20)
    lines = [part for line in text.split("\n") for part in _wrapped(visible_line(line), limit)]
    return [(first if place == 0 else rest or first) + line for place, line in enumerate(lines)]


def _wrapped(line: str, limit: float) -> list[str]:
    if width_of(line) <= limit:
        return [line]
    # A number and its unit stay together.
    tied = _NUMBER_AND_UNIT.sub("\\1\u00a0", line)
    return [part.replace("\u00a0", " ") for part in wrap(tied, int(limit))]


def _shown_texts(table: Table, columns: Sequence[Column]) -> list[dict[str, str]]:
    """Return the text of every cell by the key of its column; nothing in it acts on the screen."""
    shown = [{column.key: visible_line(text_of(row.cell(column), column)) for column in columns} for row in table.rows]
    for column in columns:
        if column.longest is not None:
            for texts, name in zip(
                shown, shorten_apart([texts[column.key] for texts in shown], column.longest), strict=True
            ):
                texts[column.key] = name
    return shown


def _fit(table: Table, columns: tuple[Column, ...], shown: Sequence[dict[str, str]], width: int | None) -> _Layout:
    natural = {column: _natural_width(table, column, shown) for column in columns}
    if width is None:
        return _Layout(columns, tuple(natural.values()), ())
    least = {column: _least_width(column, natural[column], width) for column in columns}
    beside = list(columns)
    while _total([least[column] for column in beside]) > width:
        movable = [column for column in beside if not column.is_fixed]
        if not movable:
            break
        # Of equals, the last.
        beside.remove(max(reversed(movable), key=lambda column: column.priority))
    spare = width - _total([least[column] for column in beside])
    widths = []
    for column in beside:
        size = least[column]
        if spare < 0 and column.is_text:
            size = max(size + spare, min(size, NARROWEST_TEXT))
        elif spare > 0:
            size = min(natural[column], size + spare)
        spare -= size - least[column]
        widths.append(size)
    return _Layout(tuple(beside), tuple(widths), tuple(column for column in columns if column not in beside))


def _natural_width(table: Table, column: Column, shown: Sequence[dict[str, str]]) -> int:
    longest = max((width_of(texts[column.key]) for texts in shown), default=0)
    heads = [width_of(line) for line in _head_of(column)]
    if column.kind is Kind.NAME and any(section.title for section in table.sections):
        longest += len(SECTION_INDENT)
        heads = [width_of(visible_line(section.title)) for section in table.sections]
    return max([longest, *heads])


def _least_width(column: Column, natural: int, width: int) -> int:
    if column.kind is Kind.NAME:
        return min(natural, max(NARROWEST_NAME, min(math.ceil(natural / 2) + 2, width // 2)))
    return min(natural, NARROWEST_NAME) if column.kind is Kind.WORDS else natural


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _head_of(column: Column) -> list[str]:
    return wrap_name(visible_line(column.head), WIDEST_HEAD)


def _head_lines(section: Section, layout: _Layout) -> Iterator[str]:
    heads = []
    for column, width in zip(layout.beside, layout.widths, strict=True):
        if section.title and column.kind is Kind.NAME:
            heads.append(wrap_name(visible_line(section.title), width))
        else:
            heads.append(_head_of(column))
    depth = max((len(lines) for lines in heads), default=0)
    if any(line for lines in heads for line in lines):
        for line in range(depth):
            # What has fewer lines stands at the bottom, beside the first row.
            texts = [lines[line - depth + len(lines)] if line >= depth - len(lines) else "" for lines in heads]
            yield _joined(layout, texts)


def _row_lines(
    row: Row, texts: dict[str, str], layout: _Layout, width: int | None, colour: bool, indent: str
) -> Iterator[str]:
    wrapped = []
    for column, room in zip(layout.beside, layout.widths, strict=True):
        before = indent if column.kind is Kind.NAME else ""
        lines = _cell_lines(column, texts[column.key], room - len(before))
        # A name's further lines are set in, so that they do not look like rows.
        more = before + "  " if column.kind is Kind.NAME and len(lines) > 1 else before
        if more != before:
            rest = texts[column.key][len(lines[0]) :].lstrip(" ")
            lines = [lines[0], *wrap_name(rest, max(room - len(more), 1))]
        wrapped.append([(more if place else before) + line for place, line in enumerate(lines)])
    for line in range(max(map(len, wrapped), default=0)):
        parts = [lines[line] if line < len(lines) else "" for lines in wrapped]
        yield _joined(layout, parts, row if colour else None)
    pairs = [f"{visible_line(column.head)} {texts[column.key]}" for column in layout.below if texts[column.key]]
    yield from _pair_lines(pairs, width, indent + BELOW_INDENT)
    for note in row.notes:
        yield from note_lines(note, width, indent + BELOW_INDENT, indent + BELOW_INDENT + "  ")


def _cell_lines(column: Column, text: str, room: int) -> list[str]:
    if column.kind is Kind.NAME:
        return wrap_name(text, room)
    return _wrapped(text, room) if column.kind is Kind.WORDS else [text]


def _pair_lines(pairs: Sequence[str], width: int | None, indent: str) -> Iterator[str]:
    """Yield the cells that left their row, broken between the pairs of head and figure."""
    current = ""
    for pair in pairs:
        longer = f"{current}; {pair}" if current else pair
        if current and width is not None and width_of(indent + longer) > width:
            yield f"{indent}{current};"
            longer = pair
        current = longer
    if current:
        yield from note_lines(current, width, indent, indent + "  ")


def _joined(layout: _Layout, texts: Sequence[str], row: Row | None = None) -> str:
    parts = []
    for column, width, text in zip(layout.beside, layout.widths, texts, strict=True):
        code = "" if row is None or not text else COLOURS.get(row.cell(column).mark, "")
        painted = f"{code}{text}{PLAIN}" if code else text
        spaces = " " * (width - width_of(text))
        parts.append(painted + spaces if column.is_text else spaces + painted)
    return GAP.join(parts).rstrip()
