from __future__ import annotations

import pytest

from photometer.analysis.table import Cell, Reference, Table, TableRequest
from photometer.model.suspicion import Suspicion, SuspicionKind
from photometer.report.cell_text import cell_text, ratio_text


def table(**request: object) -> Table:
    return Table(None, "us", 1e-6, ("c",), (), TableRequest(**request))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("microseconds", "figures", "expected"),
    [
        (12.345, None, "12.3"),
        (12.345, 1, "10"),
        (12.345, 2, "12"),
        (12.345, 4, "12.35"),
        (1234.5, 2, "1200"),
        (0.01234, 2, "0.012"),
        (9.96, 2, "10"),
        (1.0, 3, "1.00"),
        (0.0, 3, "0.0"),
    ],
)
def test_number(microseconds: float, figures: int | None, expected: str) -> None:
    cell = Cell(microseconds * 1e-6, 9, significant_figures=figures)
    assert cell_text(cell, table()).number in (expected, expected.replace("12.35", "12.34"))


@pytest.mark.parametrize(
    ("ratio", "style", "expected"),
    [
        (1.254, "×", "1.25×"),
        (12.34, "×", "12.3×"),
        (1234.5, "×", "1234×"),
        (1.25, "%", "+25.0%"),
        (0.5, "%", "-50.0%"),
        (3.5, "%", "+250%"),
    ],
)
def test_ratio(ratio: float, style: str, expected: str) -> None:
    assert ratio_text(ratio, style) == expected


@pytest.mark.parametrize(
    ("cell", "request_", "note"),
    [
        (Cell(1e-6, 9, ratio=1.5), {}, ""),
        (Cell(1e-6, 9, ratio=1.5), {"reference": Reference(), "ratio_style": "×"}, "(1.50×)"),
        (Cell(1e-6, 9, ratio=1.5, indistinguishable=True), {"reference": Reference(), "ratio_style": "×"}, "(≈1.50×)"),
        (Cell(1e-6, 9, ratio=1.5, indistinguishable=True), {"reference": Reference()}, "(≈)"),
        (Cell(1e-6, 9, ratio=1.5), {"reference": Reference()}, ""),
        (Cell(1e-6, 9, ratio=1.0, is_reference=True), {"reference": Reference()}, "(best)"),
        (Cell(1e-6, 9, ratio=1.0, is_reference=True), {"reference": Reference("r")}, "(base)"),
        (Cell(1e-6, 9, spread=0.123, warnings=(Suspicion(SuspicionKind.WIDE_SPREAD, ""),)), {}, "(! 12%)"),
        (Cell(1e-6, 9, spread=0.02, warnings=(Suspicion(SuspicionKind.DRIFT, ""),)), {}, "(! drift)"),
    ],
)
def test_note(cell: Cell, request_: dict[str, object], note: str) -> None:
    assert cell_text(cell, table(**request_)).note == note


def test_as_one_text() -> None:
    assert str(cell_text(Cell(1e-6, 9), table())) == "1.0"
    assert str(cell_text(Cell(1e-6, 9, is_reference=True), table(reference=Reference()))) == "1.0 (best)"
