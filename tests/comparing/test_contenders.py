"""What a user gives to ab: text, callables, dicts, objects; names tell them apart, and mistakes are told."""

from __future__ import annotations

import functools
import textwrap
from typing import Any

import pytest
import torch

from photometer.comparing.contenders import MOST, clearing_gradients, gather_contenders, name_of
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


@pytest.mark.parametrize(
    ("stmt", "clears"),
    [
        ("(w * 2).sum().backward()", True),
        ("layer(w).sum().backward()", True),
        ("w.grad = None; (w * 2).sum().backward()", False),
        ("optimizer.zero_grad(); w.sum().backward()", False),
        ("torch.autograd.grad((w * 2).sum(), w)", False),
    ],
)
def test_text_with_a_backward_pass_clears_gradients_before_each_run(stmt: str, clears: bool) -> None:
    setup = "import math\nw = torch.ones(3, requires_grad=True)\nlayer = torch.nn.Linear(3, 3)"
    plain = gather_contenders([stmt, "w.sum()"], setup=setup)
    first, other = clearing_gradients(plain)
    assert other == plain[1]
    assert (first != plain[0]) is clears
    # Tables show the user's own text.
    assert first.name == plain[0].name
    if clears:
        names: dict[str, Any] = {"torch": torch}
        exec(f"{first.setup}\nfor run in range(3):\n{textwrap.indent(first.stmt, '    ')}", names)
        assert len(names["photometer_leaves"]) == 3
        assert names["w"].grad.abs().max() == 2 or "layer" in stmt
