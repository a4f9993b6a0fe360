"""A table to GitHub-flavoured Markdown: a heading, a pipe table for each number of threads, and the legend."""

from __future__ import annotations

from photometer.analysis.table import Block, Cell, Standing, Table
from photometer.report.cell_text import cell_text
from photometer.report.escape import markdown_text
from photometer.report.legend import legend_lines


def render_markdown(table: Table) -> str:
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
    lines = [_line(heads), _line(rules)]
    for group in block.groups:
        for row in group.rows:
            env = [markdown_text(group.env or "")] * with_env
            cells = ["" if cell is None else _cell(cell, table) for cell in row.cells]
            lines.append(_line([*env, markdown_text(row.name), *cells]))
    return "\n".join(lines)


def _cell(cell: Cell, table: Table) -> str:
    text = markdown_text(str(cell_text(cell, table)))
    return f"**{text}**" if cell.standing is Standing.BEST else text


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
