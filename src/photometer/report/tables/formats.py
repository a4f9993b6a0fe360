"""The output formats, each declared once: every command that shows a table has an option for each of them.

A format turns any table into text. A kind of result that has a text of its own for some of them (a comparison in a pull
request is more than a table) says so where that text is made, and goes through its table in all others.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from photometer.report.tables.table import Table


@dataclasses.dataclass(frozen=True)
class Format:
    """A format: the name of its option, what it is called, how names of its files end, and what makes the text."""

    name: str
    title: str
    endings: tuple[str, ...]
    render: Callable[[Table], str]


# Renderers are imported when they are used: the command starts without them.
def _json(table: Table) -> str:
    from photometer.report.tables.as_csv import render_json

    return render_json(table)


def _csv(table: Table) -> str:
    from photometer.report.tables.as_csv import render_csv

    return render_csv(table)


def _markdown(table: Table) -> str:
    from photometer.report.tables.as_markdown import render_markdown

    return render_markdown(table)


def _html(table: Table) -> str:
    from photometer.report.tables.as_html import render_page

    return render_page(table)


JSON = Format("json", "JSON", (".json",), _json)
CSV = Format("csv", "CSV", (".csv",), _csv)
MARKDOWN = Format("markdown", "Markdown", (".md",), _markdown)
HTML = Format("html", "a page of HTML", (".html", ".htm"), _html)
FORMATS = (JSON, CSV, MARKDOWN, HTML)
