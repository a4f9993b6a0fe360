"""Tables in terminals of any width: nothing is lost, and no two names look alike."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings, strategies as st

from photometer.report.tables.as_text import render_text
from photometer.report.tables.table import STAYS, Cell, Column, Kind, Mark, Section, Table, row_of, table_of
from photometer.report.text_width import width_of

NAME = Column("name", "benchmark", Kind.NAME)
COLUMNS = (
    Column("verdict", "verdict", Kind.WORDS, priority=STAYS),
    Column("ratio", "change", Kind.CHANGE, priority=STAYS),
    Column("interval", "interval", Kind.CHANGE, priority=1),
    Column("base", "base", Kind.TIME, priority=2),
    Column("detectable", "detectable", Kind.SHARE, priority=3),
    NAME,
)
TITLE = "pointwise › maths › multiply [eager, python, n={}]"


def comparison() -> Table:
    rows = [
        row_of(
            {
                "verdict": Cell("slower", mark=Mark.BAD),
                "ratio": 1.081,
                "interval": (1.07, 1.09),
                "base": 1.2e-6,
                "detectable": 0.004,
                "name": TITLE.format(size),
            },
            notes=("more instructions and slower: +9 instructions per run, most in gather (model.py:41)",),
        )
        for size in (1000, 2000)
    ]
    return table_of(COLUMNS, rows, notes=("Changes below 1 % count as none.",))


def test_figures_to_the_right_and_text_to_the_left() -> None:
    table = table_of(
        (NAME, Column("a", "a", Kind.NUMBER), Column("b", "b", Kind.NUMBER)),
        [row_of({"name": "x", "a": 1, "b": 2.5}), row_of({"name": "longer", "a": 10})],
    )
    assert render_text(table) == "benchmark   a    b\nx           1  2.5\nlonger     10\n"


def test_a_wide_terminal_has_all_side_by_side() -> None:
    lines = render_text(comparison(), 200).splitlines()
    assert lines[0].split() == ["verdict", "change", "interval", "base", "detectable", "benchmark"]
    assert lines[1].endswith(TITLE.format(1000))
    assert lines[2].strip().startswith("more instructions")
    assert lines[-2:] == ["", "Changes below 1 % count as none."]


def test_what_does_not_fit_continues_below_its_row_the_least_important_first() -> None:
    lines = render_text(comparison(), 78).splitlines()
    assert lines[0].split() == ["verdict", "change", "interval", "base", "benchmark"]
    assert "    detectable 0.40 %" in lines
    assert render_text(comparison(), 60).splitlines()[0].split() == ["verdict", "change", "benchmark"]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_nothing_is_lost_at_any_width_and_lines_fit(width: int) -> None:
    text = render_text(comparison(), width)
    assert all(width_of(line) <= width for line in text.splitlines())
    words = re.sub(r"\s+", "", text)
    for said in ("+8.1 %", "+7.0 % to +9.0 %", "1.20 µs", "0.40 %", "gather (model.py:41)"):
        assert words.count(re.sub(r"\s+", "", said)) == 2
    assert "n=1000]" in words
    assert "n=2000]" in words


NAMES = st.lists(st.text("ab[]./日 ›é", min_size=1, max_size=60), min_size=2, max_size=6, unique=True)


@settings(max_examples=60)
@given(NAMES, st.integers(10, 90), st.sampled_from([None, 12, 30]))
def test_names_that_differ_look_different(names: list[str], width: int, longest: int | None) -> None:
    distinct = list({re.sub(r"\s+", "", name): name for name in names}.values())
    columns = (Column("name", "", Kind.NAME, longest=longest), Column("n", "", Kind.COUNT, priority=STAYS))
    text = render_text(table_of(columns, [row_of({"name": name, "n": 1}) for name in distinct]), width)
    assert len(set(_names(text))) == len(distinct)


def _names(text: str) -> list[str]:
    """The name of each row, put together from its lines: a row begins with a line that ends in its figure."""
    found: list[str] = []
    for line in text.splitlines():
        if re.search(r"(^|\s)1$", line):
            found.append("")
            line = line[:-1]
        found[-1] += re.sub(r"\s+", "", line)
    return found


def test_sections_have_their_title_in_place_of_the_names_head() -> None:
    column = Column("count", "instr.", Kind.COUNT)
    rows = (row_of({"name": "add", "count": 9310.0}),)
    table = Table((NAME, column), (Section("Pointwise", rows), Section("Reduction", rows)))
    assert render_text(table, 80).splitlines() == [
        "Pointwise  instr.",
        "  add       9,310",
        "",
        "Reduction  instr.",
        "  add       9,310",
    ]


def test_hostile_text_does_not_act_and_colour_only_where_asked_for() -> None:
    table = table_of(
        (NAME, Column("word", "w\x1b[1m", Kind.WORDS)),
        [row_of({"name": "a\x1b[31m\nb", "word": Cell("bad", mark=Mark.BAD)}, notes=("n\x07\x1b]0;x",))],
        title="t\x1b",
        notes=("\x9b31m",),
    )
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", render_text(table, 40))
    assert "\x1b[1;31mbad\x1b[0m" in render_text(table, 40, colour=True)


def test_wide_characters_take_two_columns() -> None:
    table = table_of(
        (NAME, Column("n", "n", Kind.COUNT)),
        [row_of({"name": "日本語", "n": 1}), row_of({"name": "abcdefghi", "n": 2})],
    )
    assert render_text(table) == "benchmark  n\n日本語     1\nabcdefghi  2\n"
