"""Rows as aligned text."""

from __future__ import annotations

from photometer.report.text_columns import text_columns


def test_names_to_the_left_and_figures_to_the_right() -> None:
    lines = text_columns(("name", "a", "b"), [("x", "1", "2.5"), ("longer", "10", "")], 80)
    assert lines == ["name     a    b", "x        1  2.5", "longer  10"]


def test_a_column_without_a_cell_is_left_out() -> None:
    assert text_columns(("name", "a", "b"), [("x", "", "2")], 80) == ["name  b", "x     2"]


def test_names_are_cut_and_escaped_and_figures_are_not() -> None:
    lines = text_columns(("name", "a"), [("n" * 60 + "\x1b", "123456")], 40)
    assert len(lines[1]) <= 40
    assert lines[1].endswith("123456")
    assert "…" in lines[1]
    assert "\x1b" not in "".join(text_columns(("name", "a"), [("\x1b[31m", "1")], 80))
