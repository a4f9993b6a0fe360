"""Hostile labels: whatever a measurement is called, it stays text."""

from __future__ import annotations

import csv
import io
from html.parser import HTMLParser

import pytest
from hypothesis import given, strategies as st

from photometer.report.escape import csv_text, encodable, html_lines, html_text, markdown_text

anything = st.text(st.characters(), max_size=60)


class _Text(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.data = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.data += data


@given(anything)
def test_html_makes_no_element_and_breaks_no_attribute(text: str) -> None:
    assert _Text(html_text(text)).tags == []
    assert set(_Text(html_lines(text)).tags) <= {"br"}
    assert '"' not in html_text(text)
    html_text(text).encode("utf-8")


@given(anything)
def test_markdown_stays_in_its_cell(text: str) -> None:
    escaped = markdown_text(text)
    assert "\n" not in escaped
    assert set(_Text(escaped).tags) <= {"br"}
    # Every pipe is behind an odd number of backslashes: it does not end the cell.
    for i, character in enumerate(escaped):
        if character in "|`[]":
            before = escaped[:i]
            assert (len(before) - len(before.rstrip("\\"))) % 2 == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("torch.add(x, y)", "torch.add(x, y)"),
        ("x | y", "x \\| y"),
        ("`x`", "\\`x\\`"),
        ("a_b*c", "a\\_b\\*c"),
        ("<b>&", "&lt;b&gt;&amp;"),
        ("[x](javascript:1)", "\\[x\\](javascript:1)"),
        ("https://example.com", "https&#58;//example.com"),
        ("www.example.com", "www&#46;example.com"),
        ("@everyone #1", "&#64;everyone \\#1"),
        ("x\\", "x\\\\"),
        ("a\nb", "a<br>b"),
    ],
)
def test_markdown(text: str, expected: str) -> None:
    assert markdown_text(text) == expected


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＠"])
def test_csv_formulas_become_text(start: str) -> None:
    assert csv_text(f"{start}cmd|' /C calc'!A0").startswith("'")


def test_csv_leaves_the_rest_alone() -> None:
    assert csv_text("size: 1, x") == "size: 1, x"
    assert csv_text("") == ""


def test_encodable_keeps_what_the_output_can_show() -> None:
    assert encodable("≈1.25× ü", "utf-8") == "≈1.25× ü"
    assert encodable("≈1.25× ü", "ascii") == "~1.25x \\xfc"
    assert encodable("1.2 µs", "ascii") == "1.2 us"
    assert encodable("≈1.25× ü", "latin-1") == "~1.25x ü"
    assert encodable("≈", None) == "≈"


@given(anything)
def test_csv_never_begins_a_formula_and_stays_one_field(text: str) -> None:
    escaped = csv_text(text)
    assert not escaped.startswith(("=", "+", "-", "@", "\t", "\r"))
    out = io.StringIO()
    csv.writer(out).writerow([escaped, "next"])
    assert next(csv.reader(io.StringIO(out.getvalue(), newline=""))) == [escaped, "next"]
