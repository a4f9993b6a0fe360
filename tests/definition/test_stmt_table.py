"""Tables of Python and C++."""

from __future__ import annotations

import pytest

from photometer.definition import iter_parsed_lines, parse_stmts
from photometer.errors import DefinitionError


def test_statements_keep_their_inner_indentation() -> None:
    assert parse_stmts("""
        Python      | C++
        ----------- | ------------
        z = f(      | auto z = f(
            x | y,  |     x | y,
        )           | );
    """) == ("z = f(\n    x | y,\n)", "auto z = f(\n    x | y,\n);")


def test_a_column_may_be_shorter() -> None:
    assert parse_stmts("""
        Python | C++
        ------ | ---
        f()    | int n = 1;
               | f(n);
    """) == ("f()", "int n = 1;\nf(n);")


def test_rows_as_pairs() -> None:
    rows = iter_parsed_lines("""
        Python | C++
        ------ | ---
        [0]    | {0}

        [...]  | {Ellipsis}
    """)
    assert list(rows) == [("[0]", "{0}"), ("[...]", "{Ellipsis}")]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("Python | C++\n------ | ---", "no line of code"),
        ("Python | Rust\n------ | ---\nf()    | g();", "head is not"),
        ("Python   C++\n------ | ---\nf()    | g();", "head is not"),
        ("Python | C++\nf()    | g();\nh()    | i();", "second line is not a rule"),
        ("Python | C++\n------ | ---\nf(1, 2, 3) | g();", "the bar is not below"),
        ("Python | C++\n------ | ---\nf()", "the bar is not below"),
        ("Python | C++\n------ | ---\nabcdef|g();", "the bar is not below"),
    ],
)
def test_mistakes(table: str, message: str) -> None:
    with pytest.raises(DefinitionError, match=message) as caught:
        parse_stmts(table)
    assert "Python | C++" in str(caught.value.remedy)
