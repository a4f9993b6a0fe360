from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from photometer.report.text_width import centre, pad, shorten_apart, width_of, wrap, wrap_name


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("数", 2), ("e\u0301", 1), ("×", 1), ("", 0)])
def test_width(text: str, width: int) -> None:
    assert width_of(text) == width


@given(st.text("ab 数é", max_size=30), st.integers(0, 60))
def test_padding_reaches_the_width(text: str, width: int) -> None:
    wanted = max(width, width_of(text))
    assert width_of(pad(text, width)) == wanted
    assert width_of(centre(text, width)) == wanted


@given(st.text("ab 数\n", max_size=80), st.integers(4, 30))
def test_wrapped_lines_fit_and_lose_no_letter(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert all(width_of(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "").replace("\n", "")


def test_wrap_breaks_at_spaces_and_keeps_indentation() -> None:
    assert wrap("one two three", 8) == ["one two", "three"]
    assert wrap("    one two", 8) == ["    one", "    two"]
    assert wrap("abcdefghij", 4) == ["abcd", "efgh", "ij"]


def test_a_name_breaks_at_its_joints() -> None:
    assert wrap_name("tests/test_speed.py::test_counted[8]", 24) == ["tests/test_speed.py::", "test_counted[8]"]
    assert wrap_name("rung › plain [n=8, c++]", 14) == ["rung › plain", "[n=8, c++]"]
    assert wrap_name("short", 20) == ["short"]
    assert wrap_name("", 20) == [""]


@given(st.text("ab[]./日 ›", max_size=50), st.integers(2, 30))
def test_wrapping_loses_nothing_and_fits(name: str, width: int) -> None:
    lines = wrap_name(name, width)
    assert "".join(lines).replace(" ", "") == name.replace(" ", "")
    assert all(width_of(line) <= width for line in lines)


def test_a_long_name_loses_its_middle() -> None:
    assert shorten_apart(["a" * 30 + "z"], 11) == ["aaaaa…aaaaz"]


def test_what_differs_in_the_middle_stays() -> None:
    names = [f"{'a' * 40}{number}{'z' * 40}" for number in range(3)]
    shown = shorten_apart(names, 24)
    assert len(set(shown)) == 3
    assert all(len(name) <= 26 for name in shown)


@given(st.lists(st.text("abc", max_size=40), max_size=8), st.integers(4, 20))
def test_names_that_differ_stay_different(names: list[str], longest: int) -> None:
    shown = shorten_apart(names, longest)
    assert len(set(zip(names, shown, strict=True))) == len(set(names)) == len(set(shown))
