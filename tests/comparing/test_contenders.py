"""What a user gives to ab: text, callables, dicts, objects; names tell them apart, and mistakes are told."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch

from photometer.comparing.contenders import MOST, gather_contenders, name_of
from photometer.errors import DefinitionError


def double(x: Any) -> Any:
    return x + x


def names(*statements: Any, **options: Any) -> list[str]:
    return [contender.name for contender in gather_contenders(statements, **options)]


def test_text_needs_no_objects() -> None:
    first, second = gather_contenders(["x + 1", "\n    x + 2\n"], setup="x = 1", setup_b="x = 2")
    assert (first.stmt, first.setup, dict(first.names)) == ("x + 1", "x = 1", {})
    assert (second.stmt, second.setup) == ("x + 2", "x = 2")


def test_callables_have_their_arguments_and_a_name() -> None:
    first, second = gather_contenders([double, torch.nn.ReLU()], args=(3,))
    namespace = dict(first.names)
    assert eval(first.stmt, namespace) == 6
    assert [first.name, second.name] == ["double(…)", "ReLU(…)"]


def test_names_tell_them_apart() -> None:
    assert names("x", "x", globals={"x": 1}) == ["x [1]", "x [2]"]
    assert names({"old": double, "new": double}, args=(1,)) == ["old", "new"]
    assert name_of(lambda: 1).startswith("lambda at line ")
    assert name_of(functools.partial(double, 1)) == "partial(double)"
    assert name_of(torch.nn.ReLU().forward) == "ReLU.forward"


def test_globals_go_to_every_statement() -> None:
    contenders = gather_contenders(["y + 1", lambda: 1], globals={"y": 2})
    assert all(contender.names["y"] == 2 for contender in contenders)


@pytest.mark.parametrize(
    ("statements", "options", "said"),
    [
        (("x",), {}, "2 to"),
        (["x"] * (MOST + 1), {}, "2 to"),
        (("x", 3), {}, "text or a callable"),
        (("x", "y"), {"args": (1,)}, "callables"),
        (("x", "y", "z"), {"setup_b": "pass"}, "setup_b"),
        (({"a": "x"}, "y"), {}, "only argument"),
        (("x", "y"), {"globals": [1]}, "globals"),
    ],
)
def test_mistakes_are_told(statements: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        gather_contenders(statements, **options)
