from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from photometer.report.text_width import centre, pad, width_of, wrap


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
