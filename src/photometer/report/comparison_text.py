"""A comparison as text: two sides as rows with intervals (verdict_text.py), more as a table (matrix_text.py).

In: an EnvironmentComparison. Out: text for the terminal, Markdown, or the outcome in one line.
"""

from __future__ import annotations

import json

from photometer.analysis.comparison_result import EnvironmentComparison
from photometer.analysis.result_rows import rows_of
from photometer.model.records import to_record
from photometer.report import matrix_text, verdict_text
from photometer.report.tables.as_csv import write_csv


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


def render_comparison_csv(comparison: EnvironmentComparison) -> str:
    """Return a line per benchmark and side."""
    rows = [
        {**({"side": comparison.names[result.side]} if comparison.has_many_sides else {}), **row}
        for result in comparison
        for row in rows_of(result)
    ]
    rows += [row for each in (*comparison.failures, *comparison.skips) for row in rows_of(each)]
    return write_csv(list(dict.fromkeys(head for row in rows for head in row)), rows)


def render_comparison_json(comparison: EnvironmentComparison) -> str:
    """Return the records of the results, then of what failed or was skipped; "kind" tells them apart.

    With more than two sides, each has the position of its side.
    """
    records = [to_record(each) for each in (*comparison, *comparison.failures, *comparison.skips)]
    document = {"sides": comparison.names, "results": records} if comparison.has_many_sides else records
    return json.dumps(document, indent=2) + "\n"
