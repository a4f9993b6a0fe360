"""Excerpts point at the character meant, and the place is the author's own line."""

from __future__ import annotations

import inspect

from photometer.definition import GroupedStmts
from photometer.definition.place import excerpt, excerpt_of


def test_caret_stands_below_the_column() -> None:
    shown = excerpt("one\ntwo three\nfour", 1, 4, 5).splitlines()
    line, caret = shown[1], shown[2]
    assert line[caret.index("^") : caret.rindex("^") + 1] == "three"


def test_context_is_two_lines_either_side() -> None:
    text = "\n".join(f"line{number}" for number in range(20))
    shown = excerpt(text, 10)
    assert [f"line{number}" in shown for number in (7, 8, 12, 13)] == [False, True, True, False]
    # The caret's row has the same margin as the numbered ones.
    assert len({row.index("|") for row in shown.splitlines()}) == 1


def test_excerpt_survives_places_outside_the_text() -> None:
    assert "^" in excerpt("", 5, 3)
    assert "last" in excerpt("first\nlast", 99)


def test_excerpt_of_finds_a_later_line() -> None:
    shown = excerpt_of("a = 1\nb = wrong\n", "wrong").splitlines()
    assert shown[2].count("^") == len("wrong")
    assert shown[1].index("wrong") == shown[2].index("^")


def test_defined_at_is_the_authors_line() -> None:
    line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
    benchmark = GroupedStmts("pass")
    assert benchmark.defined_at == f"test_place.py:{line}"
