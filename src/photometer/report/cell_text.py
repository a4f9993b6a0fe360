"""What a cell of a table says, in characters that every renderer shares: a number, and a note such as (1.25×)."""

from __future__ import annotations

import dataclasses
import math

from photometer.analysis.table import Cell, Table
from photometer.model.suspicion import SuspicionKind
from photometer.model.units import trim_sigfig

# As torch prints them, where nothing is known or asked about digits.
PLAIN_DECIMALS = 1


@dataclasses.dataclass(frozen=True)
class CellText:
    number: str
    note: str

    def __str__(self) -> str:
        return f"{self.number} {self.note}" if self.note else self.number


def cell_text(cell: Cell, table: Table) -> CellText:
    return CellText(number_text(cell, table), " ".join(filter(None, [ratio_note(cell, table), warning_note(cell)])))


def number_text(cell: Cell, table: Table) -> str:
    value = cell.seconds / table.seconds_per_unit
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
    note = ("≈" if cell.indistinguishable else "") + ratio
    return f"({note})" if note else ""


def warning_note(cell: Cell) -> str:
    """(! 12%) for a wide spread, as torch has it; the kind in words for another suspicion."""
    if not cell.warnings:
        return ""
    kinds = {suspicion.kind for suspicion in cell.warnings}
    if SuspicionKind.WIDE_SPREAD in kinds and cell.spread is not None:
        return f"(! {cell.spread * 100:.0f}%)"
    return f"(! {cell.warnings[0].kind.value})"
