from __future__ import annotations

import pytest

from photometer.analysis.table import Reference, TableRequest
from photometer.analysis.tabulate import tabulate
from photometer.model.measurement import Measurement
from photometer.model.suspicion import SuspicionKind
from photometer.model.task import TaskSpec
from photometer.report.legend import legend_lines, reference_words
from tests.analysis.measurements import made


def test_a_plain_table_has_its_unit_only() -> None:
    [table] = tabulate([made(1e-6)])
    assert legend_lines(table) == ["Times are in microseconds (us)."]


def test_notes_are_explained_only_where_they_occur() -> None:
    request = TableRequest(reference=Reference(), ratio_style="%")
    [apart] = tabulate([made(1, "a"), made(5, "b")], request)
    [alike] = tabulate([made(1, "a", spread=0.3), made(1, "b", spread=0.3)], request)
    assert not any("≈" in line for line in legend_lines(apart))
    assert any(line.startswith("(+25.0%) is 1.25 times the fastest") for line in legend_lines(apart))
    assert any("No significant difference" in line for line in legend_lines(alike))


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
