"""The signature's grammar, and the caret below what does not fit."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from photometer.definition.signature import parse_signature
from photometer.errors import DefinitionError


@pytest.mark.parametrize(
    ("text", "args", "output"),
    [
        ("f(x, w) -> y", ("x", "w"), "y"),
        ("  f ( x ,w )->y ", ("x", "w"), "y"),
        ("f(x) -> None", ("x",), None),
        ("f() -> y", (), "y"),
    ],
)
def test_accepted(text: str, args: tuple[str, ...], output: str | None) -> None:
    signature = parse_signature(text)
    assert signature is not None
    assert (signature.args, signature.output) == (args, output)


def test_none_means_no_signature() -> None:
    assert parse_signature(None) is None


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("g(x) -> y", "g"),
        ("f(x w) -> y", "w"),
        ("f(x, ) -> y", ")"),
        ("f(x, x) -> y", "x) "),
        ("f(x) => y", "="),
        ("f(x) -> ", ""),
        ("f(x) -> y, z", ", z"),
        ("f(x) -> y z", "z"),
        ("f(for) -> y", "for"),
        ("f(None) -> y", "None"),
        ("f(jit_model) -> y", "jit_model"),
        ("f(photometer_x) -> y", "photometer_x"),
        ("f x -> y", "x"),
        ("", ""),
    ],
)
def test_caret_points_at_the_mistake(text: str, at: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        parse_signature(text)
    line, caret = str(caught.value.log).splitlines()[:2]
    column = caret.index("^") - line.index("|") - 2
    assert text[column:].startswith(at)
    assert "f(x, w) -> y" in str(caught.value.remedy)


@pytest.mark.lengthy
@given(st.text())
def test_any_text_parses_or_is_a_definition_error(text: str) -> None:
    try:
        signature = parse_signature(text)
    except DefinitionError:
        return
    assert signature is not None
    assert all(name.isidentifier() for name in signature.args)
