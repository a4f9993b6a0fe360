"""What cells and legends say, whatever the format of the table."""

from __future__ import annotations

import pytest

from photometer.analysis.table import Cell, Reference, Table, TableRequest
from photometer.analysis.tabulate import tabulate
from photometer.model.diagnosis import Suspicion, SuspicionKind
from photometer.model.measurement import Measurement
from photometer.model.task import TaskSpec
from photometer.report.tables.compare_terminal import cell_text, legend_lines, ratio_text, reference_words
from tests.analysis.measurements import made


def table_of(**request: object) -> Table:
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
    assert cell_text(cell, table_of()).number in (expected, expected.replace("12.35", "12.34"))


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
        (Cell(1e-6, 9, ratio=1.5, overlaps_reference=True), {"reference": Reference(), "ratio_style": "×"}, "(≈1.50×)"),
        (Cell(1e-6, 9, ratio=1.5, overlaps_reference=True), {"reference": Reference()}, "(≈)"),
        (Cell(1e-6, 9, ratio=1.5), {"reference": Reference()}, ""),
        (Cell(1e-6, 9, ratio=1.0, is_reference=True), {"reference": Reference()}, "(best)"),
        (Cell(1e-6, 9, ratio=1.0, is_reference=True), {"reference": Reference("r")}, "(base)"),
        (Cell(1e-6, 9, spread=0.123, warnings=(Suspicion(SuspicionKind.WIDE_SPREAD, ""),)), {}, "(! 12%)"),
        (Cell(1e-6, 9, spread=0.02, warnings=(Suspicion(SuspicionKind.DRIFT, ""),)), {}, "(! drift)"),
    ],
)
def test_note(cell: Cell, request_: dict[str, object], note: str) -> None:
    assert cell_text(cell, table_of(**request_)).note == note


def test_as_one_text() -> None:
    assert str(cell_text(Cell(1e-6, 9), table_of())) == "1.0"
    assert str(cell_text(Cell(1e-6, 9, is_reference=True), table_of(reference=Reference()))) == "1.0 (best)"


def test_a_plain_table_has_its_unit_only() -> None:
    [table] = tabulate([made(1e-6)])
    assert legend_lines(table) == ["Times are in microseconds (us)."]


def test_notes_are_explained_only_where_they_occur() -> None:
    request = TableRequest(reference=Reference(), ratio_style="%")
    [apart] = tabulate([made(1, "a"), made(5, "b")], request)
    [alike] = tabulate([made(1, "a", spread=0.3), made(1, "b", spread=0.3)], request)
    assert not any("≈" in line for line in legend_lines(apart))
    assert any(line.startswith("(+25.0%) is 1.25 times the fastest") for line in legend_lines(apart))
    assert any("intervals overlap" in line for line in legend_lines(alike))


def test_each_kind_of_warning_has_its_remedy_once() -> None:
    wide = [made(1, row, spread=0.5) for row in "abc"]
    [table] = tabulate([*wide, made(1, "d", samples=2)], TableRequest(warnings=True))
    lines = legend_lines(table)
    assert sum(line.startswith("(! XX%)") for line in lines) == 1
    assert sum(line.startswith(f"(! {SuspicionKind.TOO_FEW_RUNS.value})") for line in lines) == 1


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        (Reference(), "the fastest"),
        (Reference(row="r"), "the row 'r' of the same env"),
        (Reference(env="e"), "the same row of env 'e'"),
        (Reference("r", "e"), "the row 'r' of env 'e'"),
    ],
)
def test_reference_words(reference: Reference, words: str) -> None:
    assert words in reference_words(reference)


def test_a_suspicion_that_no_note_names_is_still_explained() -> None:
    wide_and_two_modes = Measurement(1, [1.0, 1.5, 1.01, 1.51] * 10, TaskSpec("x", "pass"))
    [table] = tabulate([wide_and_two_modes], TableRequest(warnings=True))
    lines = legend_lines(table)
    assert any(line.startswith("(! XX%)") for line in lines)
    assert any("also suspected of: several-modes" in line for line in lines)
