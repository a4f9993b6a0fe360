"""A table as GitHub-flavoured Markdown, and as HTML: a fragment for notebooks, or a page of its own.

In: finished Tables. Out: text without script or outside resources, in which names are escaped. Markdown has one pipe
table per number of threads; HTML has background colours that suit light and dark pages.
"""

from __future__ import annotations

from collections.abc import Iterable

from photometer.analysis.table import Block, Cell, Standing, Table
from photometer.model.units import format_seconds
from photometer.report.escape import html_lines, html_text, markdown_text
from photometer.report.tables.terminal import cell_text, legend_lines

# Half-transparent: text keeps the page's own colour and stays readable on black and on white.
_BACKGROUNDS = {
    Standing.BEST: "rgba(46,160,67,.35)",
    Standing.GOOD: "rgba(46,160,67,.15)",
    Standing.BAD: "rgba(219,140,40,.25)",
    Standing.VERY_BAD: "rgba(248,81,73,.35)",
}
_LINE = "1px solid rgba(128,128,128,.4)"
_CELL = f"border-bottom:{_LINE};padding:.2em .8em"
_CAPTION = "text-align:left;font-weight:bold;font-size:1.1em;padding:.3em .8em"
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


def render_markdown(table: Table) -> str:
    """Return a heading, the pipe tables and the legend."""
    parts = [f"### {markdown_text(table.label).replace('<br>', ' ')}"] if table.label else []
    with_env = table.has_envs
    for block in table.blocks:
        if len(table.blocks) > 1 or block.num_threads != 1:
            parts.append(f"**{block.num_threads} threads**" if block.num_threads != 1 else "**1 thread**")
        parts.append(_pipe_table(table, block, with_env))
    parts.append("<br>\n".join(markdown_text(line) for line in legend_lines(table)))
    return "\n\n".join(parts) + "\n"


def _pipe_table(table: Table, block: Block, with_env: bool) -> str:
    heads = ["env"] * with_env + [""] + [markdown_text(head or "") for head in table.columns]
    rules = [":---"] * (1 + with_env) + ["---:"] * len(table.columns)
    lines = [_pipe_line(heads), _pipe_line(rules)]
    for group in block.groups:
        for row in group.rows:
            env = [markdown_text(group.env or "")] * with_env
            cells = ["" if cell is None else _markdown_cell(cell, table) for cell in row.cells]
            lines.append(_pipe_line([*env, markdown_text(row.name), *cells]))
    return "\n".join(lines)


def _markdown_cell(cell: Cell, table: Table) -> str:
    text = markdown_text(str(cell_text(cell, table)))
    return f"**{text}**" if cell.standing is Standing.BEST else text


def _pipe_line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def render_html(table: Table) -> str:
    """Return the table as one element, for a notebook or a page."""
    head = "".join(f'<th style="{_CELL};text-align:right">{html_lines(name or "")}</th>' for name in table.columns)
    env_head = f'<th style="{_CELL};text-align:left">env</th>' if table.has_envs else ""
    caption = f'<caption style="{_CAPTION}">{html_text(table.label)}</caption>' if table.label else ""
    legend = "<br>".join(html_text(line) for line in legend_lines(table))
    return (
        '<div style="overflow-x:auto;margin:1em 0">'
        '<table style="border-collapse:collapse;font-variant-numeric:tabular-nums">'
        f'{caption}<thead><tr>{env_head}<th style="{_CELL}"></th>{head}</tr></thead>\n'
        f"{''.join(_html_body(table))}</table>"
        f'<div style="opacity:.75;font-size:.85em;padding:.4em .8em">{legend}</div></div>\n'
    )


def render_page(tables: Iterable[Table], title: str, notes: Iterable[str] = ()) -> str:
    """Return a whole document: one line per note, then the tables."""
    above = "".join(f"<p>{html_text(note)}</p>\n" for note in notes)
    return _PAGE.format(title=html_text(title), body=above + "\n".join(render_html(table) for table in tables))


def _html_body(table: Table) -> Iterable[str]:
    with_env = table.has_envs
    span = 1 + with_env + len(table.columns)
    for block in table.blocks:
        threads = "1 thread" if block.num_threads == 1 else f"{block.num_threads} threads"
        yield (
            f'<tbody><tr><th colspan="{span}" style="{_CELL};text-align:left;opacity:.75;font-weight:normal">'
            f"{threads}</th></tr>\n"
        )
        for group in block.groups:
            for i, row in enumerate(group.rows):
                yield "<tr>"
                if with_env and i == 0:
                    yield f'<th rowspan="{len(group.rows)}" style="{_CELL};text-align:left;vertical-align:top">'
                    yield f"{html_lines(group.env or '')}</th>"
                yield f'<th style="{_CELL};text-align:left;font-weight:normal;white-space:pre-wrap">'
                yield f"{html_text(row.name)}</th>"
                yield from (_html_cell(cell, table) for cell in row.cells)
                yield "</tr>\n"
        yield "</tbody>"


def _html_cell(cell: Cell | None, table: Table) -> str:
    if cell is None:
        return f'<td style="{_CELL}"></td>'
    background = _BACKGROUNDS.get(cell.standing) if cell.standing is not None else None
    style = _CELL + ";text-align:right;white-space:nowrap" + (f";background:{background}" if background else "")
    text = cell_text(cell, table)
    note = f' <span style="opacity:.75">{html_text(text.note)}</span>' if text.note else ""
    return f'<td style="{style}" title="{html_text(_details(cell, table))}">{html_text(text.number)}{note}</td>'


def _details(cell: Cell, table: Table) -> str:
    if table.has_counts:
        return f"{cell.value:,.4f} per run, " + ("1 repeat" if cell.samples == 1 else f"{cell.samples} repeats")
    parts = [f"median {format_seconds(cell.value)}"]
    if cell.interval is not None:
        parts.append(f"95 % interval {format_seconds(cell.interval[0])} to {format_seconds(cell.interval[1])}")
    parts.append("1 sample" if cell.samples == 1 else f"{cell.samples} samples")
    return ", ".join(parts + [str(suspicion) for suspicion in cell.warnings])
