"""The lines below a table that say what its numbers and notes mean. Plain text: each renderer escapes it."""

from __future__ import annotations

from photometer.analysis.table import Reference, Table
from photometer.model.suspicion import Suspicion, SuspicionKind
from photometer.model.units import unit_to_english
from photometer.report.cell_text import warning_note


def legend_lines(table: Table) -> list[str]:
    lines = [f"Times are in {unit_to_english(table.unit)}s ({table.unit})."]
    reference, style = table.request.reference, table.request.ratio_style
    if reference is not None:
        if style is not None:
            example = "(1.25×)" if style == "×" else "(+25.0%)"
            lines.append(f"{example} is 1.25 times {reference_words(reference)}.")
        if any(cell.indistinguishable for cell in table.cells()):
            lines.append("(≈) No significant difference: the 95 % intervals overlap.")
    return lines + _warning_lines(table)


def reference_words(reference: Reference) -> str:
    if reference.is_fastest:
        return "the fastest (best) of the same description and number of threads"
    if reference.row is None:
        return f"the same row of env {reference.env!r} (base)"
    where = "the same env" if reference.env is None else f"env {reference.env!r}"
    return f"the row {reference.row!r} of {where} (base)"


def _warning_lines(table: Table) -> list[str]:
    found: dict[SuspicionKind, Suspicion] = {}
    noted = set()
    for cell in table.cells():
        if cell.warnings:
            noted.add(warning_note(cell))
            found.update((suspicion.kind, suspicion) for suspicion in cell.warnings)
    lines = []
    for kind, suspicion in found.items():
        if kind is SuspicionKind.WIDE_SPREAD:
            lines.append(f"(! XX%) Wide spread: XX is the interquartile range in % of the median. {suspicion.remedy}")
        elif f"(! {kind.value})" in noted:
            lines.append(f"(! {kind.value}) {suspicion.remedy}")
        else:
            lines.append(f"Some of these are also suspected of: {kind.value}. {suspicion.remedy}")
    return lines
