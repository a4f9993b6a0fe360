"""Nested dicts of labels, made flat."""

from __future__ import annotations

from typing import Any

import pytest

from photometer.definition import GroupedStmts, TimerArgs, flatten
from photometer.errors import DefinitionError

ONE = GroupedStmts("x = 1")
TWO = TimerArgs("x = 2")


def test_keys_are_texts_tuples_and_none() -> None:
    tree = {"a": {None: ONE, "b": TWO, ("c", "d"): {"e": ONE}}, ("f", "g"): TWO}
    assert flatten(tree) == {("a",): ONE, ("a", "b"): TWO, ("a", "c", "d", "e"): ONE, ("f", "g"): TWO}
    assert list(flatten(tree)) == [("a",), ("a", "b"), ("a", "c", "d", "e"), ("f", "g")]


def test_a_label_twice_names_both_places() -> None:
    with pytest.raises(DefinitionError, match="a › b is there twice") as caught:
        flatten({"a": {"b": ONE}, ("a", "b"): ONE})
    assert str(caught.value.log).count(ONE.defined_at) == 2


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"a": 3}, "a is 3, not a benchmark"),
        ({"a": {"b": [ONE]}}, "a › b is .* not a benchmark"),
        ({3: ONE}, "below the top there is the label 3"),
        ({"a": {" ": ONE}}, "below a there is the label ' '"),
        ({None: ONE}, "without a label"),
    ],
)
def test_mistakes(tree: dict[Any, Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        flatten(tree)
