"""What a table says, whatever its format: the number and note of each cell, and the legend that explains them.

In: a finished Table. Out: plain text, such as `1.25` and `(1.04×)`, which each renderer lays out and escapes.
"""

from __future__ import annotations

import dataclasses
import math

from photometer.analysis.table import Cell, Reference, Table
from photometer.model.diagnosis import Suspicion, SuspicionKind
from photometer.model.units import trim_sigfig, unit_to_english

# As torch prints them, if significant figures are not asked for.
PLAIN_DECIMALS = 1
# Counts are of a hundred runs or so; these digits tell a cost that comes once in a while.
COUNT_DECIMALS = 2


@dataclasses.dataclass(frozen=True)
class CellText:
    number: str
    note: str

    def __str__(self) -> str:
        return f"{self.number} {self.note}" if self.note else self.number


def cell_text(cell: Cell, table: Table) -> CellText:
    """Return what one cell says."""
    return CellText(number_text(cell, table), " ".join(filter(None, [ratio_note(cell, table), warning_note(cell)])))


def number_text(cell: Cell, table: Table) -> str:
    value = cell.value / table.unit_size
    if table.has_counts:
        return f"{value:,.{COUNT_DECIMALS}f}"
    if cell.significant_figures is None or value <= 0:
        return f"{value:.{PLAIN_DECIMALS}f}"
    trimmed = trim_sigfig(value, cell.significant_figures)
    leading_digits = math.floor(math.log10(trimmed)) + 1
    return f"{trimmed:.{max(cell.significant_figures - leading_digits, 0)}f}"


def ratio_text(ratio: float, style: str) -> str:
    if style == "%":
        percent = (ratio - 1) * 100
        return f"{percent:+.1f}%" if abs(percent) < 100 else f"{percent:+.0f}%"
    return f"{ratio:.2f}×" if ratio < 10 else f"{ratio:.1f}×" if ratio < 100 else f"{ratio:.0f}×"


def ratio_note(cell: Cell, table: Table) -> str:
    request = table.request
    if request.reference is None:
        return ""
    if cell.is_reference:
        return "(best)" if request.reference.is_fastest else "(base)"
    ratio = "" if cell.ratio is None or request.ratio_style is None else ratio_text(cell.ratio, request.ratio_style)
    note = ("≈" if cell.overlaps_reference else "") + ratio
    return f"({note})" if note else ""


def warning_note(cell: Cell) -> str:
    """Return "(! 12%)" for a wide spread, as torch prints it, and the kind of any other suspicion in words."""
    if not cell.warnings:
        return ""
    kinds = {suspicion.kind for suspicion in cell.warnings}
    if SuspicionKind.WIDE_SPREAD in kinds and cell.spread is not None:
        return f"(! {cell.spread * 100:.0f}%)"
    return f"(! {cell.warnings[0].kind.value})"


def legend_lines(table: Table) -> list[str]:
    """Return the lines below a table: its unit, and what each kind of note in it means."""
    if table.has_counts:
        lines = ["Instructions per run, less those of the empty loop."]
    else:
        lines = [f"Times are in {unit_to_english(table.unit)}s ({table.unit})."]
    reference, style = table.request.reference, table.request.ratio_style
    if reference is not None:
        if style is not None:
            example = "(1.25×)" if style == "×" else "(+25.0%)"
            lines.append(f"{example} is 1.25 times {reference_words(reference)}.")
        if any(cell.overlaps_reference for cell in table.cells()):
            overlapping = "The repeats" if table.has_counts else "The 95 % intervals"
            lines.append(f"(≈) {overlapping} overlap, which does not show that the two are equal; `ab` compares them.")
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
