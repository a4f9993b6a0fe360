"""What Python text reads and binds, without running it."""

from __future__ import annotations

import pytest

from photometer.definition.python_names import definitions_in, names_of


@pytest.mark.parametrize(
    ("code", "free", "bound"),
    [
        ("y = x * w", {"x", "w"}, {"y"}),
        ("x += w", {"x", "w"}, {"x"}),
        ("a = x\nb = a", {"x"}, {"a", "b"}),
        ("b = a\na = 1", {"a"}, {"a", "b"}),
        ("x[i] = 1", {"x", "i"}, set()),
        ("x.grad = None", {"x"}, set()),
        ("y = [v * s for v in x]", {"x", "s"}, {"y"}),
        ("y = {v: u for v, u in x if v}", {"x"}, {"y"}),
        ("for v in x:\n    y = v", {"x"}, {"v", "y"}),
        ("def g(a, b=c):\n    return a + d\ny = g(1)", {"c", "d"}, {"g", "y"}),
        ("y = (lambda a: a + x)(1)", {"x"}, {"y"}),
        ("class C(B):\n    k = v", {"B", "v"}, {"C"}),
        ("import a.b, c as d\nfrom e import g", set(), {"a", "d", "g"}),
        ("with x as y:\n    pass", {"x"}, {"y"}),
        ("if (y := x):\n    pass", {"x"}, {"y"}),
        ("a, (b, *c) = x", {"x"}, {"a", "b", "c"}),
        ("y: int = x", {"x", "int"}, {"y"}),
        ("try:\n    x\nexcept E as e:\n    e", {"x", "E"}, {"e"}),
        ("match x:\n    case [a, *_]:\n        a", {"x"}, {"a"}),
    ],
)
def test_names(code: str, free: set[str], bound: set[str]) -> None:
    names = names_of(code)
    assert set(names.free) == free
    assert names.bound == bound
    assert not names.opaque


@pytest.mark.parametrize("code", ["from torch import *", "exec('x = 1')", "globals()['x'] = 1"])
def test_code_that_hides_what_it_binds_is_opaque(code: str) -> None:
    assert names_of(code).opaque


def test_place_of_a_free_name() -> None:
    assert names_of("y = 1\nz = y + w").free == {"w": (1, 8)}


def test_definitions_keep_imports_functions_and_decorators() -> None:
    code = "import math\nx = 1\n@decorate\ndef f(a):\n    # why\n    return a\ny = f(x)"
    assert definitions_in(code) == "import math\n@decorate\ndef f(a):\n    # why\n    return a"
    assert names_of(code).definitions == {"math", "f"}
