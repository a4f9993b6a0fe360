"""The tree of labels counts its variants."""

from __future__ import annotations

from photometer.definition import GroupedStmts
from photometer.plan import materialize, order_tree


def test_tree() -> None:
    one = GroupedStmts("f()", "f();")
    plan = materialize({"a": {None: one, "b": one}, "c": GroupedStmts("g()"), ("a", "d"): one})
    tree = order_tree("suite", plan)
    assert (tree.name, tree.variants, tree.orders) == ("suite", 7, ())
    assert [(child.name, child.variants) for child in tree.children] == [("a", 6), ("c", 1)]
    a = tree.children[0]
    assert len(a.orders) == 2
    assert [(child.name, child.variants) for child in a.children] == [("b", 2), ("d", 2)]
