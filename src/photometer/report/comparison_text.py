"""A comparison as text: two sides as rows with intervals (verdict_text.py), more as a table (matrix_text.py).

In: an EnvironmentComparison. Out: text for the terminal, in any format, or the outcome in one line.
"""

from __future__ import annotations

import dataclasses
import json

from photometer.analysis.comparison_result import NOT_REACHED, EnvironmentComparison
from photometer.analysis.result_rows import rows_of
from photometer.model.records import to_record
from photometer.report import matrix_text, verdict_text
from photometer.report.tables.formats import CSV, JSON, MARKDOWN, Format
from photometer.report.tables.table import Table, table_of_records


def render_comparison(comparison: EnvironmentComparison, width: int = 100, colour: bool = False) -> str:
    """Return the text for a terminal of this width."""
    if comparison.has_many_sides:
        return matrix_text.render_matrix(comparison, width, colour)
    return verdict_text.render_verdicts(comparison, width, colour)


def render_comparison_markdown(comparison: EnvironmentComparison) -> str:
    """Return Markdown for a pull request."""
    if comparison.has_many_sides:
        return matrix_text.render_matrix_markdown(comparison)
    return verdict_text.render_verdicts_markdown(comparison)


def headline(comparison: EnvironmentComparison) -> str:
    """Return the outcome in one line."""
    return matrix_text.headline(comparison) if comparison.has_many_sides else verdict_text.headline(comparison)


def render_comparison_in(format: Format, comparison: EnvironmentComparison) -> str:
    """Return the comparison in one of the formats."""
    own = {MARKDOWN: render_comparison_markdown, CSV: render_comparison_csv, JSON: render_comparison_json}
    return own[format](comparison) if format in own else format.render(table_of_comparison(comparison))


def table_of_comparison(comparison: EnvironmentComparison) -> Table:
    """Return the verdicts below the outcome; what has none is in the notes."""
    table = (
        matrix_text.table_of_matrix(comparison)
        if comparison.has_many_sides
        else verdict_text.table_of_results(comparison.by_importance)
    )
    sides = [f"{'base' if side == 0 else 'branch'}: {name}" for side, name in enumerate(comparison.names)]
    failures = [f"failed: {failure.title}: {failure.message}" for failure in comparison.failures]
    left = [*verdict_text.skips_text(comparison), *(f"{NOT_REACHED}: {title}" for title in comparison.not_reached)]
    notes = (*sides, *comparison.warnings, *failures, *left)
    return dataclasses.replace(table, title=headline(comparison), notes=notes)


def render_comparison_csv(comparison: EnvironmentComparison) -> str:
    """Return a line per benchmark and side."""
    rows = [
        {**({"side": comparison.names[result.side]} if comparison.has_many_sides else {}), **row}
        for result in comparison
        for row in rows_of(result)
    ]
    rows += [row for each in (*comparison.failures, *comparison.skips) for row in rows_of(each)]
    return CSV.render(table_of_records(rows))


def render_comparison_json(comparison: EnvironmentComparison) -> str:
    """Return the records of the results, then of what failed or was skipped; "kind" tells them apart.

    With more than two sides, each has the position of its side.
    """
    records = [to_record(each) for each in (*comparison, *comparison.failures, *comparison.skips)]
    document = {"sides": comparison.names, "results": records} if comparison.has_many_sides else records
    return json.dumps(document, indent=2) + "\n"
