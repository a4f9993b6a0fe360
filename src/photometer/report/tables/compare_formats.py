"""The tables of `Compare` for other places than a terminal: Markdown, HTML (a fragment or a page), CSV and JSON.

In: finished Tables (analysis/table.py). Out: text. Markdown has one pipe table per number of threads; HTML has neither
script nor outside resources, and background colours that suit light and dark pages; in both, names are escaped. CSV has
one line per cell, a long form that spreadsheets and data frames can pivot; JSON is nested as the Table is; both have
times in seconds at full precision.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from photometer.analysis.table import Block, Cell, Standing, Table
from photometer.model.records import to_record
from photometer.model.units import format_seconds
from photometer.report.escape import html_lines, html_text, markdown_text
from photometer.report.tables.as_html import page_of
from photometer.report.tables.compare_terminal import cell_text, legend_lines
from photometer.report.tables.formats import CSV, HTML, JSON, MARKDOWN, Format
from photometer.report.tables.table import table_of_records

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


def render_in(format: Format, tables: Sequence[Table], notes: Sequence[str] = ()) -> str:
    """Return all tables in one of the formats; pages and Markdown have the notes above them."""
    if format is JSON:
        return render_json(tables)
    if format is HTML:
        return render_page(tables, "photometer", notes)
    if format is MARKDOWN:
        return "".join(f"{markdown_text(note)}\n\n" for note in notes) + "\n".join(map(render_markdown, tables))
    return format.render(table_of_records(list(cell_rows(tables)), CSV_FIELDS))


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
    return page_of(title, above + "\n".join(render_html(table) for table in tables))


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


CSV_FIELDS = (
    "label",
    "num_threads",
    "env",
    "row",
    "column",
    "seconds",
    "samples",
    "significant_figures",
    "spread",
    "low_seconds",
    "high_seconds",
    "ratio",
    "intervals_overlap",
    "warnings",
    "instructions_per_run",
)
JSON_FORMAT = "photometer-table"
# Version 2 calls the figure of a cell `seconds`: of a run it is not the median, but the time without disturbances.
JSON_VERSION = 2


def cell_rows(tables: Iterable[Table]) -> Iterator[dict[str, Any]]:
    """Yield the values of CSV_FIELDS for every cell. A field that was not requested is None."""
    for table in tables:
        compared = table.request.reference is not None
        for block, group, row in table.rows():
            for head, cell in zip(table.columns, row.cells, strict=True):
                if cell is None:
                    continue
                value, (low, high) = (
                    (None, (None, None)) if table.has_counts else (cell.value, cell.interval or (None, None))
                )
                yield {
                    "label": table.label,
                    "num_threads": block.num_threads,
                    "env": group.env,
                    "row": row.name,
                    "column": head,
                    "seconds": value,
                    "samples": cell.samples,
                    "significant_figures": cell.significant_figures,
                    "spread": cell.spread,
                    "low_seconds": low,
                    "high_seconds": high,
                    "ratio": cell.ratio,
                    "intervals_overlap": cell.overlaps_reference if compared else None,
                    "warnings": " ".join(suspicion.kind.value for suspicion in cell.warnings),
                    "instructions_per_run": cell.value if table.has_counts else None,
                }


def render_csv(tables: Iterable[Table]) -> str:
    """Return all tables below one line of heads. A field that was not requested is empty."""
    return CSV.render(table_of_records(list(cell_rows(tables)), CSV_FIELDS))


def render_json(tables: Iterable[Table]) -> str:
    """Return one document with every table. A field that was not requested is left out."""
    document = {"format": JSON_FORMAT, "version": JSON_VERSION, "tables": [_table_json(table) for table in tables]}
    return json.dumps(document, allow_nan=False, indent=1) + "\n"


def _table_json(table: Table) -> dict[str, Any]:
    reference = table.request.reference
    return {
        "label": table.label,
        "columns": list(table.columns),
        "baseline": None if reference is None else {"row": reference.row, "env": reference.env},
        "blocks": [
            {
                "num_threads": block.num_threads,
                "groups": [
                    {
                        "env": group.env,
                        "rows": [
                            {
                                "name": row.name,
                                "cells": [_cell_json(cell, table) for cell in row.cells],
                            }
                            for row in group.rows
                        ],
                    }
                    for group in block.groups
                ],
            }
            for block in table.blocks
        ],
    }


def _cell_json(cell: Cell | None, table: Table) -> dict[str, Any] | None:
    if cell is None:
        return None
    record: dict[str, Any] = {_value_name(table): cell.value, "samples": cell.samples}
    optional = {
        "significant_figures": cell.significant_figures,
        "spread": cell.spread,
        # The interval of one sample is infinite, and JSON has no infinity.
        "interval_seconds": None
        if cell.interval is None or table.has_counts
        else [x if math.isfinite(x) else None for x in cell.interval],
        "standing": None if cell.standing is None else cell.standing.value,
        "ratio": cell.ratio,
    }
    record.update({name: value for name, value in optional.items() if value is not None})
    if cell.is_reference:
        record["is_baseline"] = True
    if cell.overlaps_reference:
        record["intervals_overlap"] = True
    if cell.warnings:
        record["warnings"] = [to_record(suspicion) for suspicion in cell.warnings]
    return record


def _value_name(table: Table) -> str:
    return "instructions_per_run" if table.has_counts else "seconds"
