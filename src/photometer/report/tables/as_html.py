"""A table as HTML: one element for a notebook or a page, or a page of its own. All text is escaped.

There is neither script nor outside resources. Colours are half-transparent, so that they suit light and dark pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from photometer.report.escape import html_lines, html_text
from photometer.report.tables.table import Column, Kind, Mark, Row, Table, text_of
from photometer.report.text_width import shorten_apart

BACKGROUNDS = {
    Mark.BAD: "rgba(248,81,73,.3)",
    Mark.DOUBT: "rgba(219,160,40,.25)",
    Mark.FAIR: "rgba(46,160,67,.15)",
    Mark.GOOD: "rgba(56,139,213,.3)",
    Mark.BEST: "rgba(46,160,67,.35)",
    Mark.FAINT: "rgba(128,128,128,.12)",
}
LINE = "1px solid rgba(128,128,128,.4)"
CELL = f"border-bottom:{LINE};padding:.2em .8em"
WORDS = f"{CELL};text-align:left;font-weight:normal"
NUMBER = f"{CELL};text-align:right;white-space:nowrap"
SOFT = "opacity:.75;font-size:.9em"
CAPTION = "text-align:left;font-weight:bold;padding:.3em .8em"
BAR_WIDTH = 120
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 72em; padding: 0 1em; }}
</style>
</head>
<body>
{body}
</body>
</html>
"""


def render_html(table: Table) -> str:
    """Return the table with its title and notes in one `<div>`."""
    notes = "<br>".join(html_text(note) for note in table.notes)
    below = f'<div style="{SOFT};padding:.4em .8em">{notes}</div>' if notes else ""
    return f'<div style="overflow-x:auto">{html_table(table)}{below}</div>'


def render_page(table: Table) -> str:
    """Return a page with the table, for a file of its own."""
    return page_of(table.title or "photometer", render_html(table))


def page_of(title: str, body: str) -> str:
    """Return a page whose body is already escaped."""
    return _PAGE.format(title=html_text(title), body=body)


def html_table(table: Table) -> str:
    """Return the `<table>` alone."""
    columns = _columns(table)
    heads = "".join(_head(column) for column in columns)
    caption = f'<caption style="{CAPTION}">{html_text(table.title)}</caption>' if table.title else ""
    return (
        '<table style="border-collapse:collapse;font-variant-numeric:tabular-nums">'
        f"{caption}<thead><tr>{heads}</tr></thead><tbody>{''.join(_body(table, columns))}</tbody></table>"
    )


def page_table(table: Table) -> str:
    """Return the `<table>` for our own pages, whose policy allows no style but theirs: with classes."""
    columns = [column for column in _columns(table) if column.kind is not Kind.BAR]
    right = {column: "" if column.is_text else ' class="right"' for column in columns}
    heads = "".join(f"<th{right[column]}>{html_lines(column.head)}</th>" for column in columns)
    rows = (
        "".join(f"<td{right[column]}>{html_lines(text_of(row.cell(column), column))}</td>" for column in columns)
        for row in table.rows
    )
    body = "\n".join(f"<tr>{cells}</tr>" for cells in rows)
    return f'<table class="small"><thead><tr>{heads}</tr></thead>\n<tbody>{body}</tbody></table>'


def bar(value: float, longest: float) -> str:
    """Return a bar as long as the value's share of the longest."""
    width = BAR_WIDTH * value / longest if longest > 0 else 0.0
    return (
        f'<svg width="{BAR_WIDTH}" height="12" aria-hidden="true" style="display:block">'
        f'<rect width="{max(width, 1.0):.1f}" height="12" fill="currentColor" opacity=".45"/></svg>'
    )


def _columns(table: Table) -> list[Column]:
    used = set(table.used_columns)
    return [column for column in table.columns if column in used or column.kind is Kind.BAR]


def _head(column: Column) -> str:
    tip = f' title="{html_text(column.meaning)}"' if column.meaning else ""
    style = WORDS if column.is_text else NUMBER
    return f'<th style="{style};font-weight:bold"{tip}>{html_lines(column.head)}</th>'


def _body(table: Table, columns: Sequence[Column]) -> Iterator[str]:
    longest = {column: max(_lengths(table, column), default=0.0) for column in columns if column.kind is Kind.BAR}
    texts = {column: iter(_texts(table, column)) for column in columns}
    for section in table.sections:
        if section.title:
            yield f'<tr><th colspan="{len(columns)}" style="{WORDS};opacity:.75">{html_text(section.title)}</th></tr>'
        for row in section.rows:
            tip = f' title="{html_text(row.tip)}"' if row.tip else ""
            cells = (_cell(row, column, next(texts[column]), longest.get(column, 0.0)) for column in columns)
            yield f"<tr{tip}>{''.join(cells)}</tr>\n"
            if row.notes:
                notes = "<br>".join(html_text(note) for note in row.notes)
                yield f'<tr><td colspan="{len(columns)}" style="{WORDS};{SOFT};padding-left:2em">{notes}</td></tr>\n'


def _lengths(table: Table, column: Column) -> list[float]:
    return [value for row in table.rows if isinstance(value := row.cell(column).value, float)]


def _texts(table: Table, column: Column) -> list[str]:
    plain = [text_of(row.cell(column), column) for row in table.rows]
    return plain if column.longest is None else shorten_apart(plain, column.longest)


def _cell(row: Row, column: Column, said: str, longest: float) -> str:
    cell = row.cell(column)
    if column.kind is Kind.BAR:
        return f'<td style="{CELL}">{bar(cell.value, longest) if isinstance(cell.value, float) else ""}</td>'
    text = html_lines(said)
    if column.is_code:
        text = f"<code>{text}</code>"
    if cell.mark in BACKGROUNDS and text:
        # On the words themselves, so that a wide column is not a wide stripe.
        text = f'<span style="background:{BACKGROUNDS[cell.mark]};padding:.1em .5em;border-radius:3px">{text}</span>'
    style = WORDS if column.is_text else NUMBER
    tip = f' title="{html_text(cell.tip)}"' if cell.tip else ""
    return f'<td style="{style}"{tip}>{text}</td>'
