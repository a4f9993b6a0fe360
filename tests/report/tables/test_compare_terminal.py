from __future__ import annotations

import re

import pytest
from hypothesis import given, settings, strategies as st

from photometer.analysis.table import Cell, Colorize, Reference, Table, TableRequest
from photometer.analysis.tabulate import tabulate
from photometer.model.diagnosis import Suspicion, SuspicionKind
from photometer.model.measurement import Measurement
from photometer.model.task import TaskSpec
from photometer.report.tables.compare_terminal import (
    cell_text,
    legend_lines,
    ratio_text,
    reference_words,
    render_terminal,
)
from photometer.report.text_width import width_of
from tests.analysis.measurements import made


def exact(seconds: float, row: str, column: str | None = None, **fields: object) -> Measurement:
    return made(seconds, row, column, spread=0.0, samples=20, **fields)


def test_layout_is_the_one_torchs_users_know() -> None:
    measurements = [
        exact(t * n, row, column, env=env, num_threads=n)
        for env, t in (("main", 1e-6), ("branch", 2e-6))
        for row in ("add", "mul")
        for column in ("size: 1", "size: 1000")
        for n in (1, 4)
    ]
    [table] = tabulate(measurements)
    assert render_terminal(table) == (
        "[------------------ L -------------------]\n"
        "                 |  size: 1  |  size: 1000\n"
        "1 threads: -------------------------------\n"
        "  (branch)  add  |    2.0    |     2.0\n"
        "            mul  |    2.0    |     2.0\n"
        "  (main)    add  |    1.0    |     1.0\n"
        "            mul  |    1.0    |     1.0\n"
        "4 threads: -------------------------------\n"
        "  (branch)  add  |    8.0    |     8.0\n"
        "            mul  |    8.0    |     8.0\n"
        "  (main)    add  |    4.0    |     4.0\n"
        "            mul  |    4.0    |     4.0\n"
        "\n"
        "Times are in microseconds (us).\n"
    )


def test_numbers_stand_with_their_points_below_each_other() -> None:
    steady, shaky = exact(1.2345e-6, "a"), made(123.4e-6, "b", None, spread=0.05)
    [table] = tabulate([steady, shaky], TableRequest(significant_figures=True))
    lines = render_terminal(table).splitlines()
    first, second = (next(line for line in lines if line.startswith(f"  {name}")) for name in "ab")
    assert "1.234" in first or "1.235" in first
    units = first.index(".") - 1
    assert second[units].isdigit()
    assert not second[units + 1 :].strip()


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_fits_the_width_and_shows_every_number(width: int) -> None:
    measurements = [
        exact((i * 8 + j + 1) * 1e-6, f"a rather long name of the row number {i}", f"size: {10**j}", env=env)
        for i in range(3)
        for j in range(8)
        for env in ("main", "my_branch")
    ]
    [table] = tabulate(measurements)
    text = render_terminal(table, width)
    assert max(width_of(line) for line in text.splitlines()) <= width
    for value in range(1, 25):
        assert len(re.findall(rf"(?<![\d.]){value}\.0", text)) == 2


def test_long_names_wrap() -> None:
    [table] = tabulate([exact(1e-6, "word " * 40)])
    text = render_terminal(table)
    assert max(map(len, text.splitlines())) < 100
    assert text.count("word") == 40


def test_statements_of_several_lines_keep_their_shape() -> None:
    [table] = tabulate([exact(1e-6, "for i in x:\n    y(i)", "a\nb")])
    assert "  for i in x:  |" in render_terminal(table)
    assert "      y(i)     |" in render_terminal(table)


def test_a_long_env_gets_its_own_line() -> None:
    [table] = tabulate([exact(1e-6, "a", env="e" * 60), exact(1e-6, "a", env="f")])
    lines = render_terminal(table, 80).splitlines()
    assert any(line.startswith("(eeee") for line in lines)
    assert all(len(line) <= 80 for line in lines)


def test_a_row_is_left_out_of_a_panel_where_it_has_nothing() -> None:
    measurements = [exact(1e-6, f"row {i}", f"a column called {i}") for i in range(6)]
    [table] = tabulate(measurements)
    assert render_terminal(table, 60).count("row 5") == 1


def test_colours_mark_standings_and_can_be_left_off() -> None:
    measurements = [exact(1e-6, "a"), exact(1.05e-6, "b"), exact(1.5e-6, "c"), exact(3e-6, "d"), exact(9e-6, "e")]
    [table] = tabulate(measurements, TableRequest(colorize=Colorize.COLUMNWISE))
    coloured, plain = render_terminal(table), render_terminal(table, colour=False)
    assert coloured.count("\033[0m") == 4
    assert len(set(re.findall(r"\033\[[\d;]+m", coloured)) - {"\033[0m"}) == 4
    assert "\033" not in plain
    assert re.sub(r"\033\[[\d;]+m", "", coloured) == plain


def test_notes_are_explained_below() -> None:
    request = TableRequest(reference=Reference(), ratio_style="×", warnings=True)
    [table] = tabulate([made(1e-6, "a", spread=0.3), made(9e-6, "b", spread=0.3)], request)
    text = render_terminal(table)
    assert "(best)" in text
    assert "(1.25×) is 1.25 times the fastest" in text
    assert "(! XX%)" in text


def test_wide_characters_are_counted_as_two() -> None:
    [table] = tabulate([exact(1e-6, "数数数"), exact(1e-6, "abcdef")])
    bars = {width_of(line[: line.index("|")]) for line in render_terminal(table).splitlines() if "|" in line}
    assert len(bars) == 1


def test_no_label_no_description() -> None:
    [table] = tabulate([Measurement(1, [1e-6] * 9, TaskSpec("x", "pass"))])
    assert "None" not in render_terminal(table)


hostile = st.text(st.characters(), min_size=0, max_size=30)


@settings(max_examples=60)
@given(hostile, hostile, hostile, hostile, st.integers(1, 100))
def test_hostile_text_cannot_act_on_the_terminal(label: str, row: str, column: str, env: str, width: int) -> None:
    spec = {"label": label, "sub_label": row, "description": column}
    pair = [Measurement(1, [1e-6] * 9, TaskSpec("x", "pass", env=e, **spec)) for e in (env, None)]  # type: ignore[arg-type]
    for table in tabulate(pair):
        text = render_terminal(table, width, colour=False)
        assert all(c == "\n" or c.isprintable() or ord(c) > 127 for c in text)
        assert not re.search("[\x1b\x9b\u202a-\u202e\u2066-\u2069\ud800-\udfff\u2028\u2029]", text)
        text.encode("utf-8")


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
