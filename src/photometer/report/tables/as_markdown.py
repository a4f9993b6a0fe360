"""A table as GitHub-flavoured Markdown: pipes, with what rows note in a list below. Names and notes are escaped."""

from __future__ import annotations

from collections.abc import Sequence

from photometer.report.escape import markdown_text
from photometer.report.tables.table import Column, Kind, Mark, Row, Table, text_of
from photometer.report.text_width import shorten_apart

# Marked by bold type, which is all that Markdown has.
_BOLD = (Mark.BAD, Mark.BEST)


def render_markdown(table: Table) -> str:
    """Return the title as a heading, the pipe table, what rows note, and the notes."""
    parts = [f"### {inline(table.title)}"] if table.title else []
    parts += [pipe_table(table), row_notes(table), *map(_note, table.notes)]
    return "\n\n".join(part for part in parts if part) + "\n"


def pipe_table(table: Table) -> str:
    """Return the table alone; the titles of sections are rows in bold."""
    columns = [column for column in table.used_columns if column.kind is not Kind.BAR]
    if not columns:
        return ""
    lines = [_line([inline(column.head) for column in columns])]
    lines.append(_line([":---" if column.is_text else "---:" for column in columns]))
    texts = [_texts(table.rows, column) for column in columns]
    place = 0
    for section in table.sections:
        if section.title:
            first = next((i for i, column in enumerate(columns) if column.kind is Kind.NAME), 0)
            lines.append(_line([f"**{inline(section.title)}**" if i == first else "" for i in range(len(columns))]))
        for _ in section.rows:
            lines.append(_line([each[place] for each in texts]))
            place += 1
    return "\n".join(lines)


def row_notes(table: Table) -> str:
    """Return the notes of rows: a list by name, empty if there are none."""
    lines = []
    for row in table.rows:
        if row.notes:
            column = table.name_column
            lines.append(f"- {inline(text_of(row.cell(column), column))}")
            lines += [f"  - {inline(note)}" for note in row.notes]
    return "\n".join(lines)


def folded(summary: str, content: str) -> str:
    """Return Markdown behind a summary that opens it."""
    return f"<details><summary>{inline(summary)}</summary>\n\n{content}\n\n</details>"


def inline(text: str) -> str:
    """Return untrusted text in one line, escaped."""
    return markdown_text(text).replace("<br>", " ")


def _note(text: str) -> str:
    first, *rest = text.split("\n")
    return "\n".join([inline(first), *(f"- {inline(line.strip())}" for line in rest)])


def _texts(rows: Sequence[Row], column: Column) -> list[str]:
    plain = [text_of(row.cell(column), column) for row in rows]
    if column.longest is not None:
        plain = shorten_apart(plain, column.longest)
    bold = [row.cell(column).mark in _BOLD for row in rows]
    return [
        f"**{markdown_text(text)}**" if is_bold and text else markdown_text(text)
        for text, is_bold in zip(plain, bold, strict=True)
    ]


def _line(cells: Sequence[str]) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)
