from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, strategies as st

from photometer.model.visible_text import visible


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("torch.add(x, y)", "torch.add(x, y)"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("abc\u202egpj.exe", "abc\\u202egpj.exe"),
        ("\u2066isolated\u2069", "\\u2066isolated\\u2069"),
        ("over\rwritten", "over\\x0dwritten"),
        ("a\r\nb", "a\nb"),
        ("\tindented", "    indented"),
        ("\x9b31m", "\\x9b31m"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("größe × 数", "größe × 数"),
        ("می\u200cخواهم", "می\u200cخواهم"),
    ],
)
def test_visible(text: str, expected: str) -> None:
    assert visible(text) == expected


@given(st.text(st.characters()))
def test_nothing_that_acts_is_left(text: str) -> None:
    left = [c for c in visible(text) if c != "\n" and unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
    assert left == []
    assert not set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c") & set(visible(text))
